"""``edgeinf cache``: what is stored, seen and changed from outside, while a server runs and while none does."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from edgeinf.cli.app import run
from edgeinf.mock import ThreadedOrigin
from tests.cli.examples import examples
from tests.serve.spawning import Spawned, config_file, spawned, wait_until


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("EDGEINF_ADMIN_KEY", raising=False)
    return tmp_path


@pytest.fixture
def config(tmp_path: Path, origin_thread: ThreadedOrigin, free_port: int) -> Path:
    return config_file(
        tmp_path, origin_thread.url, cache={"disk": {"path": str(tmp_path / "cache")}}, listen={"port": free_port}
    )


@pytest.fixture
def free_port() -> int:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


@pytest.fixture
def server(config: Path, free_port: int) -> Iterator[Spawned]:
    with spawned(config, "--port", str(free_port)) as running:
        yield running


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    """Return what a command wrote to stdout."""
    capsys.readouterr()
    assert run(["cache", *arguments]) == code, capsys.readouterr().err
    return capsys.readouterr().out


def entries(capsys: pytest.CaptureFixture[str], config: Path, *more: str) -> list[dict[str, Any]]:
    return json.loads(said(capsys, "list", "--config", str(config), "--json", *more))["entries"]  # type: ignore[no-any-return]


def filled(server: Spawned, capsys: pytest.CaptureFixture[str], config: Path, count: int = 3) -> list[dict[str, Any]]:
    """Have some answers stored, on disk as well, and return what is listed of them."""
    for number in range(count):
        assert server.ask(f"question {number}", model=f"model-{number % 2}").status_code == 200
    wait_until(lambda: len(entries(capsys, config)) == count)
    return entries(capsys, config)


def cached(server: Spawned, number: int) -> str:
    answer = server.ask(f"question {number}", model=f"model-{number % 2}", headers={"cache-control": "only-if-cached"})
    return "hit" if answer.status_code == 200 else f"{answer.status_code}"


def test_what_is_stored_is_told_and_holds_no_prompt(
    server: Spawned, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = filled(server, capsys, config)
    assert [row["model"] for row in rows] == ["model-0", "model-1", "model-0"]
    assert all(row["ttl_s"] > 0 and row["size_bytes"] > 0 and row["region"] == "region" for row in rows)
    assert "question" not in json.dumps(rows)
    stats = json.loads(said(capsys, "stats", "--config", str(config), "--json"))
    assert (stats["schema_version"], stats["disk"]["entries"], stats["server"]) == (1, 3, True)
    assert stats["models"] == {"model-0": 2, "model-1": 1}
    assert "3 answers" in said(capsys, "stats", "--config", str(config))
    assert len(entries(capsys, config, "--model", "model-0")) == 2
    assert len(entries(capsys, config, "--limit", "1")) == 1
    assert entries(capsys, config, "--namespace", "other") == []
    assert len(said(capsys, "list", "--config", str(config)).splitlines()) == 3


def test_an_answer_is_printed_as_the_origin_sent_it(
    server: Spawned, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = server.ask("question 0", model="model-0")
    key = answer.headers["cache-status"].split('key="')[1].strip('"')
    wait_until(lambda: len(entries(capsys, config)) == 1)
    assert json.loads(said(capsys, "get", key, "--config", str(config))) == answer.json()
    row = json.loads(said(capsys, "get", key, "--config", str(config), "--json"))
    assert json.loads(row["body"]) == answer.json()


def test_what_is_deleted_is_gone_from_the_running_server_too(
    server: Spawned, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = filled(server, capsys, config)
    newest = rows[0]["key"]  # question 2
    assert said(capsys, "delete", newest, "--config", str(config)) == "1 forgotten\n"
    assert [cached(server, number) for number in range(3)] == ["hit", "hit", "504"]
    assert said(capsys, "delete", newest, "f" * 32, "--config", str(config)) == "0 forgotten\n"


@pytest.mark.parametrize(
    ("narrowed", "gone", "left"),
    [((), 3, ["504", "504", "504"]), (("--model", "model-0"), 2, ["504", "hit", "504"])],
    ids=["all", "model"],
)
def test_what_is_cleared_is_gone_from_the_running_server_too(
    server: Spawned,
    config: Path,
    capsys: pytest.CaptureFixture[str],
    narrowed: tuple[str, ...],
    gone: int,
    left: list[str],
) -> None:
    filled(server, capsys, config)
    assert said(capsys, "clear", "--config", str(config), *narrowed) == f"{gone} forgotten\n"
    assert [cached(server, number) for number in range(3)] == left
    assert len(entries(capsys, config)) == 3 - gone


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz", "all.jsonl.zst"])
def test_what_is_exported_can_be_taken_in_and_the_running_server_has_it(
    server: Spawned, config: Path, capsys: pytest.CaptureFixture[str], here: Path, name: str
) -> None:
    before = filled(server, capsys, config)
    assert said(capsys, "export", name, "--config", str(config)) == f"3 written to {name}\n"
    said(capsys, "clear", "--config", str(config))
    assert cached(server, 0) == "504"
    assert said(capsys, "import", name, "--config", str(config)) == "3 taken in, 0 left out\n"
    assert [cached(server, number) for number in range(3)] == ["hit", "hit", "hit"]
    after = entries(capsys, config)
    assert {row["key"] for row in after} == {row["key"] for row in before}


@pytest.mark.parametrize("name", ["all.jsonl", "all.jsonl.gz", "all.jsonl.zst"])
def test_an_archive_comes_from_standard_input_too(
    config: Path,
    free_port: int,
    capsys: pytest.CaptureFixture[str],
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    with spawned(config, "--port", str(free_port)) as running:
        filled(running, capsys, config)
    said(capsys, "export", name, "--config", str(config))
    said(capsys, "clear", "--config", str(config))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((here / name).read_bytes())))
    assert said(capsys, "import", "-", "--config", str(config)) == "3 taken in, 0 left out\n"


def test_without_a_server_the_disk_is_what_there_is(
    config: Path, free_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with spawned(config, "--port", str(free_port)) as running:
        filled(running, capsys, config)
    stats = json.loads(said(capsys, "stats", "--config", str(config), "--json"))
    assert (stats["disk"]["entries"], stats["server"]) == (3, False)
    assert said(capsys, "clear", "--config", str(config)) == "3 forgotten\n"
    with spawned(config, "--port", str(free_port)) as running:
        assert cached(running, 0) == "504"


def test_the_examples_of_the_help_run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = examples("cache")
    assert len(found) == 2
    for arguments in found:
        assert run(arguments) == 0
    assert run(["cache", "--help"]) == 0
    assert capsys.readouterr().out.index("edgeinf cache stats") > 0


def test_an_archive_that_is_none_is_said(config: Path, capsys: pytest.CaptureFixture[str], here: Path) -> None:
    (here / "good.jsonl").write_bytes(b"")
    assert run(["cache", "export", "good.jsonl.gz", "--config", str(config)]) == 0
    (here / "cut.gz").write_bytes((here / "good.jsonl.gz").read_bytes()[:-6])
    (here / "junk.gz").write_bytes(b"junk")
    (here / "junk.zst").write_bytes(b"junk")
    (here / "junk.jsonl").write_bytes(b"junk\n")
    (here / "foreign.jsonl").write_text('{"edgeinf_cache":1,"seed":"0000000000000000"}\n')
    (here / "damaged.gz").write_bytes(gzip.compress(b"x" * 1000)[:20] + b"\x00" * 50)
    for name in (
        "cut.gz",
        "junk.gz",
        "junk.zst",
        "junk.jsonl",
        "foreign.jsonl",
        "damaged.gz",
        "nothing",
        ".",
        "good.jsonl",
    ):
        capsys.readouterr()
        assert run(["cache", "import", name, "--config", str(config)]) == 2, name
        error = capsys.readouterr().err
        assert error.startswith("error: "), name
        assert "bug" not in error, error


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["get", "nonsense"], 2, "is no key"),
        (["get", "0" * 32], 1, "nothing is stored"),
        (["delete", "0"], 2, "is no key"),
        (["export", "no/such/folder/x"], 2, "cannot write"),
        (["export", "."], 2, "cannot write"),
        (["stats", "--config", "nothing.yaml"], 2, "nothing.yaml"),
        (["list", "--limit", "0"], 2, "limit"),
        (["nonsense"], 2, "nonsense"),
        ([], 2, ""),
    ],
    ids=str,
)
def test_wrong_usage_has_its_code_and_word(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    assert run(["cache", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert "bug" not in captured.err


def test_a_folder_that_cannot_be_used_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "file").write_text("")
    for section in ({"disk": {"path": str(here / "file" / "cache")}}, {"disk": None}):
        config = config_file(here, "http://127.0.0.1:9", cache=section)
        for what in (["stats"], ["list", "--json"], ["clear"], ["export", "x"]):
            capsys.readouterr()
            assert run(["cache", *what, "--config", str(config)]) == 2
            assert "error: " in capsys.readouterr().err
