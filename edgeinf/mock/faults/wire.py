"""Faults of the connection: they edit when and how the bytes leave."""

from __future__ import annotations

from collections.abc import Iterator

from edgeinf.mock.faults.context import Context, insert, split_off
from edgeinf.mock.values import Kind, Piece, Plan

__all__ = ["close", "cut", "down", "eof", "freeze", "length", "reset", "slow_headers", "stall", "truncate"]


def cut(context: Context, *, after: int = 1, tokens: int | None = None, at: str = "body") -> None:
    """Close the connection after so many events, in the middle of the HTTP body; ``at=headers``: before any byte."""
    _end(context.plan, Piece(Kind.CLOSE), after, tokens, at)


def reset(context: Context, *, after: int = 1, tokens: int | None = None, at: str = "body") -> None:
    """Reset the connection (RST) after so many events; ``at=headers``: before any byte."""
    _end(context.plan, Piece(Kind.RESET), after, tokens, at)


def truncate(context: Context, *, after: int = 1, tokens: int | None = None) -> None:
    """End the HTTP body properly after so many events, so that only the missing end marker tells."""
    plan = context.plan
    if plan.stream:
        plan.pieces = split_off(plan.pieces, after, tokens)
    else:
        plan.pieces = [Piece(p.kind, p.data[: len(p.data) // 2], p.tokens) for p in plan.pieces]


def stall(
    context: Context, *, after: int = 1, tokens: int | None = None, at: str = "body", for_s: float = -1.0
) -> None:
    """Say nothing more after so many events, until released or for a time; ``at=headers``: before the headers."""
    plan = context.plan
    hold = Piece(Kind.HOLD, wait_s=for_s)
    if at == "headers":
        plan.before = hold
    elif plan.stream:
        plan.pieces = insert(plan.pieces, after, tokens, lambda: iter((hold,)))
    else:
        plan.pieces = [part for piece in plan.pieces for part in _halves(piece, hold)]


def slow_headers(context: Context, *, by_s: float = 1.0) -> None:
    """Send the headers late."""
    context.plan.head_s += by_s


def length(context: Context, *, by: int = 10) -> None:
    """Announce a content-length that is wrong by so many bytes, and close after the body."""
    plan = context.plan
    plan.framing, plan.length_error, plan.close = "length", by, True


def eof(context: Context) -> None:
    """Send the body without a length, ended by closing the connection."""
    context.plan.framing = "eof"


def close(context: Context, *, said: bool = False) -> None:
    """Close the connection after a complete answer; unless ``said``, without announcing it."""
    plan = context.plan
    plan.close = True
    if said:
        plan.headers = [*plan.headers, ("connection", "close")]


def freeze(context: Context, *, for_s: float = 2.0) -> None:
    """Freeze the whole origin: nothing is read or written on any connection for a time."""
    context.plan.effects = [*context.plan.effects, ("freeze", for_s)]


def down(context: Context, *, for_s: float = 2.0) -> None:
    """Take the origin down: listener closed, connections reset; it returns after a time."""
    context.plan.effects = [*context.plan.effects, ("down", for_s)]


def _end(plan: Plan, control: Piece, after: int, tokens: int | None, at: str) -> None:
    if at == "headers":
        plan.before = control
    elif plan.stream:
        plan.pieces = _with_last(split_off(plan.pieces, after, tokens), control)
    else:
        bodies = list(plan.pieces)
        plan.length_error += sum(len(p.data) - len(p.data) // 2 for p in bodies)
        halved = (Piece(Kind.PART, p.data[: len(p.data) // 2]) for p in bodies)
        plan.pieces = _with_last(halved, control)


def _with_last(pieces: Iterator[Piece], last: Piece) -> Iterator[Piece]:
    yield from pieces
    yield last


def _halves(piece: Piece, between: Piece) -> Iterator[Piece]:
    middle = len(piece.data) // 2
    yield Piece(Kind.PART, piece.data[:middle])
    yield between
    yield Piece(piece.kind, piece.data[middle:], piece.tokens)
