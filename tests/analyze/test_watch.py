"""A growing log is read on from where it ended."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeinf.analyze.options import Options
from edgeinf.analyze.watch import Growing, watch
from edgeinf.core.errors import UsageError
from tests.analyze.making import ask, write


def _line(at: float) -> bytes:
    return json.dumps(ask(at=at)).encode() + b"\n"


def test_only_whole_new_lines_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "log", [ask(at=0)])
    growing = Growing(Options(files=(str(path),)))
    assert (growing.grew(), growing.grew(), growing.log().rows) == (True, False, 1)
    with path.open("ab") as file:
        file.write(_line(1) + _line(2)[:20])
    assert (growing.grew(), growing.log().rows) == (True, 2)
    with path.open("ab") as file:
        file.write(_line(2)[20:])
    assert (growing.grew(), growing.log().rows) == (True, 3)


def test_a_truncated_log_starts_over(tmp_path: Path) -> None:
    path = write(tmp_path / "log", [ask(at=0), ask(at=1)])
    growing = Growing(Options(files=(str(path),)))
    growing.grew()
    write(path, [ask(at=9)])
    assert (growing.grew(), growing.log().rows) == (True, 1)


def test_a_rotated_log_starts_over_and_one_that_is_away_is_waited_for(tmp_path: Path) -> None:
    path = write(tmp_path / "log", [ask(at=0)])
    growing = Growing(Options(files=(str(path),)))
    assert growing.grew()
    path.rename(tmp_path / "log.1")
    assert not growing.grew()
    write(path, [ask(at=n) for n in range(9)])
    assert (growing.grew(), growing.log().rows) == (True, 9)


def test_each_growth_gives_a_new_analysis(tmp_path: Path) -> None:
    path = write(tmp_path / "log", [ask(at=0), ask(at=1)])

    def grow(seconds: float) -> None:
        with path.open("ab") as file:
            file.write(_line(9))

    found = watch(Options(files=(str(path),)), sleep=grow)
    hits = [a.default.hits if a.default else None for a in (next(found), next(found))]
    assert hits == [1, 2]


def test_several_files_cannot_be_followed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one file"):
        Growing(Options(files=("-",)))
    with pytest.raises(UsageError, match="is none"):
        Growing(Options(files=(str(tmp_path),)))
