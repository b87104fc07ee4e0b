from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from edgeinf.cli.app import run
from tests.cli.examples import examples


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("EDGEINF_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("EDGEINF_LISTEN__PORT", "0")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edgeinf.yaml").write_text("listen: {port: 0}\nregions: [{name: a, url: 'http://127.0.0.1:1'}]\n")
    return tmp_path


@pytest.mark.parametrize("arguments", examples("doctor"), ids=str)
def test_the_examples_of_the_help_run(arguments: list[str]) -> None:
    assert run(arguments) == 0


def test_the_document_has_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["config"]["outcome"] == "ok"
    assert checks["region a"]["outcome"] == "warn"


def test_a_failed_check_is_exit_code_one_and_says_what_to_do(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "edgeinf.yaml").write_text("listen: {prot: 0}\n")
    assert run(["doctor", "--no-network"]) == 1
    out = capsys.readouterr().out
    assert "fail  config: " in out
    assert "edgeinf validate" in out
