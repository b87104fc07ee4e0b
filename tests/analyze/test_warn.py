"""A log that cannot be trusted says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.analyze.making import ask, run, write

CASES: dict[str, tuple[list[dict[str, Any] | bytes], str]] = {
    "short": ([ask(at=0)], "only 1 requests"),
    "less than a day": ([ask(at=0), ask(at=5)], "less than a day"),
    "damaged": ([ask(at=0), b"{cut"], "1 of 2 lines could not be read"),
    "unsorted": ([ask(at=9), ask(at=1)], "not in order of time"),
    "no times": ([{k: v for k, v in ask().items() if k != "ts"}], "no times in the log"),
    "some without": ([ask(at=0), {**ask(), "ts": None}], "1 requests have no time"),
    "no answers": ([ask(at=0)], "no answers"),
    "ids twice": ([ask(at=0, id="x"), ask(at=1, id="x")], "1 requests carry an id seen before"),
    "served": ([ask(at=0, cache="hit")], "served by a cache already"),
    "redacted": ([ask("call [REDACTED] now", at=0)], "redacted text"),
    "cut prompts": ([ask(f"{n:04d}" + "x" * 996, at=n) for n in range(40)], "exactly 1000 characters"),
}


@pytest.mark.parametrize(("rows", "words"), CASES.values(), ids=CASES)
def test_the_doubt_is_named(tmp_path: Path, rows: list[dict[str, Any] | bytes], words: str) -> None:
    assert any(words in w for w in run(write(tmp_path / "log", rows)).warnings)


def test_a_sound_log_raises_none(tmp_path: Path) -> None:
    rows = [ask(f"q {n}", at=n * 100, response="r", id=str(n)) for n in range(1_001)]
    assert run(write(tmp_path / "log", rows)).warnings == []
