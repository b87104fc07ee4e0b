"""The command line as a whole: every command is found, says how it is used, and speaks JSON where it says so."""

from __future__ import annotations

import importlib
import json
import re
import shlex
from pathlib import Path

import pytest

import edgeinf
from edgeinf.cli.app import COMMANDS, run
from tests.cli.commands import edgeinf as process
from tests.cli.examples import examples

_FOLDER = Path(edgeinf.__file__).parent / "cli"
# Files of the folder that are parts of commands.
_PARTS = {"__init__", "app", "output", "failures"}


def test_every_command_has_its_file_and_every_file_its_command() -> None:
    apps = {
        path.stem
        for path in _FOLDER.glob("*.py")
        if path.stem not in _PARTS and re.search(r"^app = ", path.read_text(), re.MULTILINE)
    }
    assert apps == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_begins_with_two_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([name, "--help"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    lines = [line.strip() for line in captured.out.splitlines()]
    shown = [line for line in lines if line.startswith(f"edgeinf {name}")]
    assert len(shown) >= 2
    assert lines.index(shown[1]) < 12
    assert [shlex.split(line)[1:] for line in shown[:2]] == examples(name)[:2]


def test_the_overview_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"], ["-h"], ["help"]):
        assert run(arguments) == 0
        shown = capsys.readouterr().out
        assert all(f"  {name} " in shown and line in shown for name, line in COMMANDS.items())


def test_it_says_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"edgeinf {edgeinf.__version__}\n"


@pytest.mark.parametrize(("typed", "meant"), [("serv", "serve"), ("analyse", "analyze"), ("caches", "cache")])
def test_a_misspelt_command_is_told_the_nearest(typed: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([typed]) == 2
    assert f"did you mean '{meant}'?" in capsys.readouterr().err


def test_what_is_near_no_command_is_told_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["xyzzy"]) == 2
    assert "one of: demo, serve" in capsys.readouterr().err


JSON = ["cache stats --json", "cache list --json", "doctor --json", "schema", "keys new --json",
        "validate --format json", "explain a.json a.json --json", "analyze log.jsonl --json",
        "demo --requests 20 --json"]  # fmt: skip


@pytest.mark.parametrize("line", JSON)
def test_what_is_json_is_nothing_but_json(line: str, tmp_path: Path) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    (tmp_path / "a.json").write_text(json.dumps(body))
    (tmp_path / "edgeinf.yaml").write_text("version: 1\n")
    rows = [{"at": f"2025-01-01T00:00:0{n}Z", "path": "/v1/chat/completions", "request": body} for n in range(3)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = process(*line.split(), home=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    document = json.loads(done.stdout)
    assert line == "schema" or document["schema_version"] == 1


def test_every_command_that_offers_json_is_tried_here() -> None:
    elsewhere = {"serve", "mock", "probe", "replay", "index", "init", "top"}  # by tests of their own
    offer = {name for name in COMMANDS if '"--json"' in (_FOLDER / f"{name}.py").read_text()}
    tried = {line.split()[0] for line in JSON}
    assert offer - tried - elsewhere == set()


def test_no_command_names_another() -> None:
    """Commands may use each other's parts by import only where that is said: the demo is made of others."""
    for name in COMMANDS:
        importlib.import_module(f"edgeinf.cli.{name}")
        text = (_FOLDER / f"{name}.py").read_text()
        used = set(re.findall(r"from edgeinf\.cli\.(\w+) import", text)) & set(COMMANDS)
        assert used <= ({"replay"} if name == "demo" else {"demo"} if name == "serve" else set()), name
