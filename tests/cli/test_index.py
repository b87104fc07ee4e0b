"""Documents indexed and asked from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeinf.cli.app import run
from tests.cli.examples import examples


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "keys.md").write_text("# Keys\n\nTo rotate a key, make a new one.\n")
    (docs / "other.md").write_text("# Other\n\nNothing of interest.\n")
    return tmp_path


@pytest.mark.parametrize("arguments", examples("index"), ids=str)
def test_the_examples_of_the_help_run(arguments: list[str]) -> None:
    assert run(arguments) == 0


def test_the_index_is_where_serve_keeps_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from edgeinf.serve.context.index import default_path

    assert run(["index", "docs", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["index"] == str(default_path(here / "docs", here / ".cache" / "edgeinf"))
    assert Path(made["index"]).is_file()
    assert (made["files"], made["changed"]) == (2, 2)
    assert run(["index", "docs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["changed"] == 0


def test_a_question_shows_the_passage_that_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["index", "docs", "--ask", "How is a key rotated?", "--json"]) == 0
    [hit, *_] = json.loads(capsys.readouterr().out)["hits"]
    assert (hit["path"], hit["heading"], hit["line"]) == ("keys.md", "Keys", 3)


def test_a_folder_that_is_not_there_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["index", "none"]) == 2
    assert "there is no folder" in capsys.readouterr().err
