"""Curves end where the level's own hit rate is, and name the sizes that bring most of it."""

from __future__ import annotations

from pathlib import Path

from edgeinf.analyze.curves import capacity_curve, level_curves, warmup
from edgeinf.analyze.levels import LevelRun, run_level
from edgeinf.analyze.log import Log
from edgeinf.analyze.options import Options
from edgeinf.analyze.scopes import scoped
from edgeinf.analyze.stack import previous, stack_distances
from tests.analyze.making import ask, log_of, run, write

import numpy as np  # isort: skip


def test_the_capacity_curve_reaches_the_ceiling_and_says_where(tmp_path: Path) -> None:
    ids = np.array([0, 1, 2, 0, 1, 2, 0, 0], np.uint32)
    curve = capacity_curve(stack_distances(previous(ids)), len(ids), (1, 2, 3, 100))
    assert curve.points == [(1, 1 / 8), (2, 1 / 8), (3, 5 / 8), (100, 5 / 8)]
    assert (curve.for_90, curve.for_99) == (3, 3)


def _level(path: Path) -> tuple[Log, LevelRun]:
    log = log_of(path)
    return log, run_level(log, "safe", scoped(log, None), Options(files=()))


def test_ttl_and_capacity_together_never_beat_either(tmp_path: Path) -> None:
    rows = [ask(f"q {n % 7}", at=n * 3.0) for n in range(200)]
    log, run_ = _level(write(tmp_path / "log", rows))
    found = level_curves(log, run_, Options(files=(), ttls_s=(10.0, 25.0, 1000.0), capacities=(3, 7)), table=True)
    assert found.ttl is not None
    assert found.ttl_capacity is not None
    by_ttl, by_size = dict(found.ttl), dict(found.capacity.points)
    assert all(rate <= min(by_ttl[t], by_size[n]) for t, n, rate in found.ttl_capacity)
    assert by_ttl[1000.0] == by_size[7] == 193 / 200


def test_warm_up_rises_to_the_rate_of_the_whole_log(tmp_path: Path) -> None:
    rows = [ask(f"q {n % 50}", at=n) for n in range(200)]
    analysis = run(write(tmp_path / "log", rows))
    assert analysis.default is not None
    points = warmup(analysis.log, analysis.default, points=4)
    assert points == [(50, 0.0, 0.0), (100, 0.5, 1.0), (150, 100 / 150, 1.0), (200, 0.75, 1.0)]
