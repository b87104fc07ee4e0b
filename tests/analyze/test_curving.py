"""Curves that are worked out beside are those that are worked out at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.analyze.curves import level_curves
from edgeinf.analyze.curving import Curving
from edgeinf.analyze.levels import run_level
from edgeinf.analyze.options import Options
from edgeinf.analyze.scopes import scoped
from tests.analyze.making import ask, log_of, write

OPTIONS = Options(files=())


def test_each_level_has_its_curves_in_the_order_they_were_begun(tmp_path: Path) -> None:
    log = log_of(write(tmp_path / "log", [ask(f"Q {n % 7}" + "?" * (n % 3), at=n) for n in range(200)]))
    runs = [run_level(log, name, scoped(log, None), OPTIONS) for name in OPTIONS.levels]
    with Curving(log, OPTIONS) as curving:
        for run in runs:
            curving.begin(run)
        found = curving.curves()
    assert list(found) == list(OPTIONS.levels)
    assert found == {run.level: level_curves(log, run, OPTIONS, table=run.level == OPTIONS.level) for run in runs}


def test_what_goes_wrong_in_the_thread_goes_wrong_here(tmp_path: Path) -> None:
    log = log_of(write(tmp_path / "log", [ask(at=n) for n in range(20)]))
    run = run_level(log, "safe", scoped(log, None), OPTIONS)
    log.flags = log.flags[:5]
    with Curving(log, OPTIONS) as curving:
        curving.begin(run)
        with pytest.raises(IndexError):
            curving.curves()
