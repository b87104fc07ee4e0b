from __future__ import annotations

import json
import os
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from edgeinf.cli.app import run
from tests.cli.examples import examples
from tests.validate.test_online import server

ROOT = Path(__file__).resolve().parents[2]
WARNS = "regions: [{name: a, url: 'http://api.example.com/v1'}]\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("EDGEINF_", "GITHUB_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "edgeinf.yaml").write_text("version: 1\n")
    (tmp_path / "bad.yaml").write_text("listen: {prot: 1}\n")
    (tmp_path / "warns.yaml").write_text(WARNS)
    return tmp_path


@pytest.mark.parametrize("arguments", examples("validate"), ids=shlex.join)
def test_the_examples_of_the_help_run(arguments: list[str]) -> None:
    assert run(arguments) == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["edgeinf.yaml"], 0),
        ([], 0),
        (["warns.yaml"], 0),
        (["warns.yaml", "--fail-on", "warning"], 1),
        (["warns.yaml", "--fail-on", "warning", "--ignore", "W311"], 0),
        (["warns.yaml", "--fail-on", "warning", "--select", "W301,W4"], 0),
        (["bad.yaml"], 1),
        (["bad.yaml", "--ignore", "E104"], 1),
        (["*.yaml"], 1),
        (["nothing.yaml"], 2),
        (["--format", "yaml"], 2),
        (["--fail-on", "info"], 2),
        (["--select", "W999"], 2),
        (["--kind", "nginx"], 2),
        (["--env-file", "nothing.env"], 2),
        (["--no-env", "--env-file", "edgeinf.yaml"], 2),
        (["--nonsense"], 2),
        (["--explain", "E104"], 0),
        (["--explain", "all"], 0),
        (["--explain", "X1"], 2),
        (["bad.yaml", "--kind", "litellm"], 1),
    ],
    ids=str,
)
def test_exit_codes(arguments: list[str], code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", *arguments]) == code
    said = capsys.readouterr()
    assert "Traceback" not in said.err
    assert ("error: " in said.err) == (code == 2)


def test_json_is_the_only_thing_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "bad.yaml", "warns.yaml", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert document["summary"]["errors"] == 1
    assert document["summary"]["warnings"] == 1
    [found] = document["files"][0]["diagnostics"]
    assert (found["line"], found["column"], found["end_column"], found["path"]) == (1, 10, 14, "listen.prot")


def test_variables_come_from_the_environment_then_the_file(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "v.yaml").write_text("listen:\n  host: ${EX_HOST}\n  port: ${EX_PORT}\n")
    (here / ".env").write_text("EX_HOST=localhost\nEX_PORT=1\n")
    assert run(["validate", "v.yaml"]) == 1
    assert run(["validate", "v.yaml", "--no-env"]) == 0
    monkeypatch.setenv("EX_PORT", "2")
    capsys.readouterr()
    assert run(["validate", "v.yaml", "--env-file", ".env", "--print-effective"]) == 0
    printed = capsys.readouterr().out
    assert "host: localhost  # ${EX_HOST}:2" in printed
    assert "port: 2  # ${EX_PORT}:3" in printed


def test_overrides_of_the_environment_are_checked_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("EDGEINF_LISTEN__PORT", "70000")
    assert run(["validate", "edgeinf.yaml"]) == 1
    assert capsys.readouterr().out.startswith("EDGEINF_LISTEN__PORT: error[E103] ")


def test_no_effective_config_with_errors(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "bad.yaml", "--print-effective"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "E104" in said.err


@pytest.mark.parametrize(("flag", "code"), [("--online", 0), ("--online=required", 5)], ids=["asked", "required"])
def test_regions_of_another_tool_are_not_asked_and_that_is_said(
    flag: str, code: int, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "config.yaml").write_text("model_list: [{model_name: a, litellm_params: {model: openai/a}}]\n")
    assert run(["validate", "config.yaml", "--no-env", flag]) == code
    assert "regions are not asked" in capsys.readouterr().err


def test_each_finding_is_said_once_where_several_configs_do_not_hold(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "worse.yaml").write_text((here / "bad.yaml").read_text())
    assert run(["validate", "bad.yaml", "worse.yaml", "--print-effective"]) == 1
    said = capsys.readouterr().err
    assert said.count("bad.yaml:1:10: error[E104]") == said.count("worse.yaml:1:10: error[E104]") == 1


def test_a_warning_that_fails_is_shown_beside_what_holds(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "empty.yaml").write_text("")
    assert run(["validate", "empty.yaml", "--print-effective", "--fail-on", "warning"]) == 1
    said = capsys.readouterr()
    assert "W001" in said.err
    assert said.out.startswith("version: 1")


@pytest.mark.parametrize("arguments", [["--explain", "E104"], ["--explain", "all"]], ids=["one", "all"])
def test_an_explanation_can_be_a_document(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", *arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["schema_version"] == 1
    assert "E104" in [rule["code"] for rule in found["codes"]]


def test_what_holds_is_no_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", "edgeinf.yaml", "--print-effective", "--json"]) == 2
    assert capsys.readouterr().out == ""


def test_github_gets_annotations_and_a_summary(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(here / "summary.md"))
    assert run(["validate", "bad.yaml", "--format", "github"]) == 1
    assert capsys.readouterr().out.startswith("::error file=bad.yaml,title=E104,line=1,col=10,")
    assert "E104" in (here / "summary.md").read_text()


@pytest.mark.parametrize(("flag", "code"), [("--online", 0), ("--online=optional", 0), ("--online=required", 5)])
def test_what_could_not_be_asked_fails_only_where_it_is_required(
    flag: str, code: int, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "down.yaml").write_text("regions: [{name: a, url: 'http://127.0.0.1:1/v1'}]\n")
    assert run(["validate", "down.yaml", flag]) == code
    assert "unknown[U101]" in capsys.readouterr().out


def test_a_region_that_lacks_the_model_is_an_error_online(here: Path) -> None:
    with server("other") as (url, _):
        (here / "up.yaml").write_text(f"regions: [{{name: a, url: '{url}'}}]\nmodels: [{{name: m}}]\n")
        assert run(["validate", "up.yaml"]) == 0
        assert run(["validate", "up.yaml", "--online"]) == 1


def test_standard_input_and_a_closed_pipe() -> None:
    done = subprocess.run(
        f"printf 'listen: {{prot: 1}}' | {sys.executable} -m edgeinf validate - | head -c 20",
        shell=True,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == "stdin:1:10: error[E1"
    assert done.stderr == ""


def test_the_hooks_run_what_they_name(here: Path) -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    for hook in hooks:
        words = shlex.split(hook["entry"])
        assert run([*words[1:], "edgeinf.yaml"]) in (0, 1)
    assert run([*shlex.split(hooks[0]["entry"])[1:], "edgeinf.yaml"]) == 0


def test_the_action_runs_its_own_script(here: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    bin_ = here / "edgeinf" / "bin"
    bin_.mkdir(parents=True)
    program = bin_ / "edgeinf"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m edgeinf "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(here),
        "RUNNER_TEMP": str(here),
        "FAIL_ON": "warning",
        "KIND": "",
        "WITH_ENV": "false",
    }
    script = action["runs"]["steps"][1]["run"]
    for files, code in (("edgeinf.yaml", 0), ("edgeinf.yaml warns.yaml", 1)):
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            env={**env, "FILES": files},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == code, done.stderr
    assert "::warning file=warns.yaml,title=W311," in done.stdout
    named = set(action["runs"]["steps"][1]["env"])
    assert {"FILES", "FAIL_ON", "KIND", "WITH_ENV"} == named
