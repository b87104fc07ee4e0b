from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.recipes.kit import FOLDER
from tests.recipes.running import command, recipe

_HERE = FOLDER / "ci-hit-rate-gate"


def _steps(document: dict[str, Any]) -> list[str]:
    if "jobs" in document:
        return [step["run"] for step in document["jobs"]["gate"]["steps"] if "run" in step]
    return list(document["edgeinf"]["script"])


@pytest.mark.parametrize("pipeline", ["github.yml", "gitlab.yml"])
def test_a_pipeline_parses_and_its_commands_pass(pipeline: str, tmp_path: Path) -> None:
    steps = _steps(yaml.safe_load((_HERE / pipeline).read_text(encoding="utf-8")))
    mine = [step for step in steps if step.startswith("edgeinf ")]
    assert len(mine) == 2
    for step in mine:
        words = shlex.split(step.split(" > ")[0])
        done = command(*words[1:], home=tmp_path, cwd=_HERE)
        assert (done.returncode, done.stderr if done.returncode else "") == (0, ""), step


def test_the_gate_closes_when_the_hit_rate_is_too_low(tmp_path: Path) -> None:
    done = command("analyze", "log.jsonl", "--fail-under", "99", home=tmp_path, cwd=_HERE)
    assert done.returncode == 1


def test_the_gate_closes_on_a_doubtful_config(tmp_path: Path) -> None:
    (tmp_path / "edgeinf.yaml").write_text("cache: {ttl: 0, max_temperature: 0}\n")
    arguments = ["validate", "--no-env", "--format", "github", "--fail-on", "warning", "edgeinf.yaml"]
    done = command(*arguments, home=tmp_path, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("::warning file=edgeinf.yaml,title=W322,line=1,")


def test_the_config_under_test_runs(tmp_path: Path) -> None:
    with recipe("ci-hit-rate-gate", tmp_path) as run:
        assert run.chat("hello").status_code == 200
