from __future__ import annotations

import os
import shlex
import stat
from pathlib import Path

import pytest

from edgeinf.cli.app import run
from edgeinf.validate.detect import PROVIDERS
from tests.cli.examples import examples
from tests.recipes.kit import FOLDER


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for provider in PROVIDERS:
        for name in provider.variables:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text((FOLDER / "migrate-from-litellm" / "litellm.yaml").read_text())
    return tmp_path


@pytest.mark.parametrize("arguments", examples("init"), ids=shlex.join)
def test_the_examples_of_the_help_run(arguments: list[str], here: Path) -> None:
    assert run(arguments) == 0
    assert run(["validate", "--no-env", "--fail-on", "warning", "edgeinf.yaml"]) == 0


def test_what_is_there_is_never_written_over(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "edgeinf.yaml").write_text("mine")
    assert run(["init"]) == 2
    assert (here / "edgeinf.yaml").read_text() == "mine"
    (here / "link.yaml").symlink_to("nowhere")
    assert run(["init", "link.yaml"]) == 2
    assert not (here / "nowhere").exists()
    assert "is there already" in capsys.readouterr().err


def test_keys_that_are_set_are_found_and_not_shown(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "value-of-the-key")
    assert run(["init"]) == 0
    text = (here / "edgeinf.yaml").read_text()
    said = capsys.readouterr()
    assert "api_key: ${ANTHROPIC_API_KEY}" in text
    assert "value-of-the-key" not in text + said.out + said.err
    assert stat.S_IMODE(os.stat(here / "edgeinf.yaml").st_mode) == 0o600


@pytest.mark.parametrize(
    "arguments",
    [
        ["--from", "nginx", "config.yaml"],
        ["--from", "litellm", "nothing.yaml"],
        ["--from", "litellm"],
        ["no/such/dir.yaml"],
    ],
    ids=shlex.join,
)
def test_wrong_usage_is_said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["init", *arguments]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_foreign_file_that_is_not_yaml_names_the_place(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "broken.yaml").write_text("model_list: [\n")
    assert run(["init", "--from", "litellm", "broken.yaml"]) == 2
    assert "broken.yaml:2:1" in capsys.readouterr().err
