"""``edgeinf replay`` as a person or a script meets it, against a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from edgeinf.cli.app import run
from edgeinf.mock import ThreadedOrigin


@pytest.fixture
def origin() -> Iterator[ThreadedOrigin]:
    with ThreadedOrigin({"answer": {"tokens": 4}}) as origin:
        yield origin


def _log(path: Path, count: int) -> Path:
    rows = [
        {
            "ts": 1793527200 + 0.05 * n,
            "tenant": f"t{n % 2}",
            "request": {"model": "m", "messages": [{"role": "user", "content": f"q {n}"}]},
        }
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_every_request_arrives_in_order_with_its_scope_s_credential(
    tmp_path: Path, origin: ThreadedOrigin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["replay", str(_log(tmp_path / "log", 6)), "--to", origin.url, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["schema_version"], found["requests"], found["hits"], found["errors"]) == (1, 6, 0, {})
    assert found["latency"]["all"]["n"] == 6
    calls = origin.calls
    assert [json.loads(c.body)["messages"][0]["content"] for c in calls] == [f"q {n}" for n in range(6)]
    assert len({c.headers["authorization"] for c in calls}) == 2


def test_the_log_s_pace_can_be_kept(tmp_path: Path, origin: ThreadedOrigin, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["replay", str(_log(tmp_path / "log", 9)), "--to", origin.url, "--speed", "2x", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["elapsed_s"] >= 0.2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["log", "--to", "http://127.0.0.1:9"], 5, "nothing answers"),
        (["log", "--to", "127.0.0.1:9"], 2, "is not a URL"),
        (["log", "--to", "http://127.0.0.1:9", "--speed", "fast"], 2, "is no speed"),
        (["nothere", "--to", "http://127.0.0.1:9"], 2, "there is no file"),
        (["log"], 2, "--to"),
    ],
)
def test_exit_codes_and_words(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    _log(tmp_path / "log", 2)
    assert run(["replay", *arguments]) == code
    assert words in capsys.readouterr().err


def test_events_without_bodies_cannot_be_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "events"
    event = {"v": 1, "at": 1.0, "cache": "miss", "keys": {"exact": ["0" * 32]}, "scope": {"kind": "key", "id": "x"}}
    path.write_text(json.dumps(event) + "\n")
    assert run(["replay", str(path), "--to", "http://127.0.0.1:9"]) == 2
    assert "no request bodies" in capsys.readouterr().err
