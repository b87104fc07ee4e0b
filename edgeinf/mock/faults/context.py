"""What a fault may look at and edit."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator

import msgspec

from edgeinf.mock.dialects.base import Dialect
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["Context", "insert", "is_event", "split_off"]

_NOT_EVENTS = (Kind.PART, Kind.CLOSE, Kind.RESET, Kind.HOLD)


class Context(msgspec.Struct):
    """The answer so far, and what it came from."""

    plan: Plan
    ask: Ask
    shape: Shape
    dialect: type[Dialect]
    rng: random.Random


def is_event(piece: Piece) -> bool:
    """Return whether a piece is a whole event (or body), not a fragment or a control."""
    return piece.kind not in _NOT_EVENTS


def split_off(pieces: Iterable[Piece], after: int, tokens: int | None) -> Iterator[Piece]:
    """Yield the pieces up to ``after`` events, or up to ``tokens`` token-bearing ones if that is given."""
    events = seen = 0
    for piece in pieces:
        if (seen >= tokens) if tokens is not None else (events >= after):
            return
        yield piece
        events += is_event(piece)
        seen += piece.kind is Kind.TOKEN


def insert(
    pieces: Iterable[Piece], after: int, tokens: int | None, make: Callable[[], Iterator[Piece]]
) -> Iterator[Piece]:
    """Yield the pieces with those of ``make`` put in after so many events or token-bearing events."""
    events = seen = 0
    done = False
    for piece in pieces:
        if not done and ((seen >= tokens) if tokens is not None else (events >= after)):
            done = True
            yield from make()
        yield piece
        events += is_event(piece)
        seen += piece.kind is Kind.TOKEN
    if not done:
        yield from make()
