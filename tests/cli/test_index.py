"""Documents indexed and asked from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeinf.cli.app import run
from edgeinf.mock import ThreadedOrigin
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


# --- vectors ---


def test_passages_are_embedded_once_and_found_by_meaning(
    origin_thread: ThreadedOrigin, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["index", "docs", "--out", "d.sqlite", "--vectors-model", "e", "--region", origin_thread.url, "--json"]
    counts = []
    for _ in range(2):
        assert run(asked) == 0
        counts.append(json.loads(capsys.readouterr().out)["embedded"])
    assert counts == [2, 0]
    [call] = origin_thread.calls
    passage = call.json["input"][1]
    assert run([*asked, "--ask", passage]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["hits"][0]["path"] == "other.md"
    assert run([*asked[:-1]]) == 0
    assert capsys.readouterr().out == "2 files, 2 passages, 0 changed, 0 passages embedded\n"


def test_what_cannot_be_embedded_is_a_remote_that_failed(
    origin_thread: ThreadedOrigin, capsys: pytest.CaptureFixture[str]
) -> None:
    origin_thread.use({"fault": "503"})
    assert run(["index", "docs", "--vectors-model", "e", "--region", origin_thread.url]) == 5
    assert "answered 503" in capsys.readouterr().err


WRONG = [
    pytest.param(["--region", "a"], "--region is for --vectors-model", id="region-alone"),
    pytest.param(["--vectors-model", "e", "--region", "east"], "one of: openai", id="no-such-region"),
]


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_wrong_usage_of_vectors(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["index", "docs", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_region_of_the_config_embeds_and_serve_finds_what_was_embedded(
    here: Path, origin_thread: ThreadedOrigin, capsys: pytest.CaptureFixture[str]
) -> None:
    from edgeinf.serve.context.index import default_path
    from edgeinf.serve.context.vector_store import path_beside

    regions = f"regions: [{{name: near, url: '{origin_thread.url}', api_key: of-the-region}}]\n"
    (here / "edgeinf.yaml").write_text(regions)
    assert run(["index", "docs", "--vectors-model", "e"]) == 0
    assert origin_thread.calls[0].headers["authorization"] == "Bearer of-the-region"
    assert path_beside(default_path(here / "docs", here / ".cache" / "edgeinf"), "e").is_file()
