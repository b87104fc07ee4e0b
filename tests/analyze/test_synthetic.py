"""The generated log: known hits, found by the analysis that knows nothing of the plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.analyze.options import Options
from edgeinf.analyze.run import analyze
from edgeinf.analyze.synthetic import CAUSES, Cause, LogPlan, Template, write_log
from edgeinf.core.cacheable import CachePolicy

FOREVER = CachePolicy(ttl_s=float("inf"))


def templates() -> tuple[Template, ...]:
    return tuple(
        Template(name=f"app-{kind}", cause=Cause(kind=kind), tools=3 if kind == "tools" else 0)  # type: ignore[arg-type]
        for kind in CAUSES
    )


@pytest.mark.parametrize("seed", [1, 2])
def test_the_analysis_finds_the_planted_hits_of_every_level(tmp_path: Path, seed: int) -> None:
    log = tmp_path / "log.jsonl"
    with log.open("wb") as file:
        planted = write_log(
            LogPlan(requests=3000, seed=seed, templates=(Template(name="faq"), *templates()), damage=0.01), file
        )
    found = analyze(Options(files=(str(log),), policy=FOREVER, workers=1))
    assert {level: run.hits for level, run in found.levels.items() if run} == planted.hits
    assert found.log.rows == planted.requests == 3000
    assert found.log.damaged == planted.damaged > 0


def test_the_same_plan_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with (tmp_path / name).open("wb") as file:
            write_log(LogPlan(requests=50, damage=0.1), file)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
