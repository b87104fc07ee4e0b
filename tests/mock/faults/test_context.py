"""Placing a fault among the pieces."""

from __future__ import annotations

import pytest

from edgeinf.mock.faults.context import insert, is_event, split_off
from edgeinf.mock.values import Kind, Piece

KINDS = [Kind.OPEN, Kind.SIDE, Kind.TOKEN, Kind.TOKEN, Kind.MARK, Kind.END]


def pieces() -> list[Piece]:
    return [Piece(kind, kind.value.encode()) for kind in KINDS]


@pytest.mark.parametrize(
    ("after", "tokens", "kept"),
    [(0, None, 0), (2, None, 2), (99, None, 6), (0, 0, 0), (0, 1, 3), (0, 2, 4), (0, 9, 6)],
)
def test_pieces_are_kept_up_to_events_or_tokens(after: int, tokens: int | None, kept: int) -> None:
    assert [piece.kind for piece in split_off(pieces(), after, tokens)] == KINDS[:kept]


@pytest.mark.parametrize(("after", "tokens", "at"), [(0, None, 0), (2, None, 2), (99, None, 6), (0, 1, 3)])
def test_pieces_are_put_in_once(after: int, tokens: int | None, at: int) -> None:
    got = [piece.kind for piece in insert(pieces(), after, tokens, lambda: iter((Piece(Kind.ERROR),)))]

    assert got == [*KINDS[:at], Kind.ERROR, *KINDS[at:]]


def test_fragments_and_controls_are_no_events() -> None:
    assert [kind for kind in Kind if not is_event(Piece(kind))] == [Kind.PART, Kind.CLOSE, Kind.RESET, Kind.HOLD]
