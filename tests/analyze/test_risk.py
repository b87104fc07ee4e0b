"""The risk of a level is what its new merges show beyond exact repeats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgeinf.analyze.risk import Risk
from edgeinf.core.stats import newcombe
from tests.analyze.making import ask, run, write


def _rows(merged: int, wrong: int, repeats: int, noisy: int) -> list[dict[str, Any]]:
    """Pairs that only loose merges, ``wrong`` of them with other numbers; exact pairs, ``noisy`` of them so."""
    rows = []
    for n in range(merged):
        rows += [
            ask(f"Case {n} please", response="it is 1"),
            ask(f"CASE {n} PLEASE", response=f"it is {1 + (n < wrong)}"),
        ]
    for n in range(repeats):
        rows += [ask(f"Repeat {n}", response="it is 3"), ask(f"Repeat {n}", response=f"it is {3 + (n < noisy)}")]
    return [{**row, "ts": 1793527200 + number} for number, row in enumerate(rows)]


def _risk(path: Path, *counts: int) -> Risk:
    found = run(write(path, _rows(*counts))).risk["loose"]
    assert found is not None
    return found


def test_rate_baseline_and_interval_are_those_of_the_planted_pairs(tmp_path: Path) -> None:
    found = _risk(tmp_path / "log", 40, 10, 50, 5)
    assert (found.classes, found.compared, found.conflicts, found.rate) == (40, 40, 10, 0.25)
    assert (found.baseline_compared, found.baseline) == (50, 0.1)
    assert (found.low, found.high) == pytest.approx(newcombe(5, 50, 10, 40))
    assert found.examples[0].conflict == "numbers"


def test_under_thirty_pairs_there_is_no_rate(tmp_path: Path) -> None:
    found = _risk(tmp_path / "log", 29, 10, 50, 0)
    assert (found.rate, found.low, found.why) == (
        None, None, "only 29 newly merged pairs with answers; 30 are needed",
    )  # fmt: skip


def test_without_answers_there_is_nothing_to_compare(tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "response"} for row in _rows(40, 0, 40, 0)]
    assert run(write(tmp_path / "log", rows)).risk == dict.fromkeys(("exact", "safe", "loose", "masked"))
