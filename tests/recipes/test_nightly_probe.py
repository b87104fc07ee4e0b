from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

from tests.recipes.kit import FOLDER
from tests.recipes.running import environment, origins_for, pointed_at, recipe


def test_the_first_run_is_the_baseline_and_the_next_is_compared(tmp_path: Path) -> None:
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    program = bin_ / "edgeinf"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m edgeinf "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    folder = tmp_path / "nightly"
    shutil.copytree(FOLDER / "nightly-probe", folder)
    with origins_for("nightly-probe") as origins:
        env = environment(tmp_path, **pointed_at(origins), PROBE_ROUNDS="3")
        env["PATH"] = f"{bin_}{os.pathsep}{env['PATH']}"
        for expected in ("baseline.json", "run-*.json"):
            done = subprocess.run(
                ["./probe.sh"], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
            )
            assert done.returncode in (0, 1, 4), done.stderr  # three rounds prove nothing either way
            assert list(folder.glob(expected)), done.stderr


def test_the_measured_config_runs(tmp_path: Path) -> None:
    with recipe("nightly-probe", tmp_path) as run:
        assert run.chat("hello", model="assistant").status_code == 200


def test_the_crontab_is_one_line_for_cron() -> None:
    lines = (FOLDER / "nightly-probe" / "crontab").read_text(encoding="utf-8").splitlines()
    [entry] = [line for line in lines if line and not line.startswith("#")]
    minute, hour, *rest = entry.split()
    assert 0 <= int(minute) < 60
    assert 0 <= int(hour) < 24
    assert rest[:3] == ["*", "*", "*"]
