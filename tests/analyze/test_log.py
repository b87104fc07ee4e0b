"""Columns of a whole log: order, gaps, and reading single requests again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.analyze.making import ask, log_of, write


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 2, 0]], ids=["sorted", "unsorted"])
def test_rows_are_found_again_by_number(tmp_path: Path, order: list[int]) -> None:
    rows = [ask(f"q {n}", at=n) for n in order]
    log = log_of(write(tmp_path / "log", [rows[0], b"broken\n", *rows[1:]]))
    found = dict(log.fetch(np.array([3, 1])))
    assert {row: json.loads(r.request or b"")["messages"][1]["content"] for row, r in found.items()} == {
        1: "q 1",
        3: "q 3",
    }


def test_lines_of_several_requests_are_found_again(tmp_path: Path) -> None:
    turns = [{"role": r, "content": f"{r} {n}"} for n in range(3) for r in ("user", "assistant")]
    lines = [{"conversation_id": str(n), "model": "m", "conversation": turns} for n in range(3)]
    log = log_of(write(tmp_path / "log", lines))
    found = dict(log.fetch(np.array([5, 4, 0])))
    assert {row: r.answer for row, r in found.items()} == {0: "assistant 0", 4: "assistant 1", 5: "assistant 2"}


def test_columns_that_only_some_chunks_have_are_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeinf.analyze.source.chunks.__defaults__", (1,))
    rows = [ask("a", at=0), ask("b", at=1, user="u", input_tokens=3), ask("c", at=2, latency_ms=5)]
    log = log_of(write(tmp_path / "log", rows))
    assert log.input is not None
    assert log.latency is not None
    assert log.user is not None
    assert (log.input.tolist(), (log.user != 0).tolist()) == ([-1, 3, -1], [False, True, False])
    assert np.isnan(log.latency).tolist() == [True, True, False]
