from __future__ import annotations

import gzip
import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import zstandard

from edgeinf.cli.app import run
from tests.cli.examples import examples

_A = {"model": "m", "messages": [{"role": "user", "content": "What is a cache?"}]}
_B = {"model": "m", "messages": [{"role": "user", "content": "what is a cache"}], "user": "u"}


@pytest.fixture
def bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps({**_A, "max_tokens": 5}))
    (tmp_path / "b.json").write_text(json.dumps({**_B, "max_tokens": 5}))
    return tmp_path


def test_the_document_has_levels_differences_and_bypass(bodies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "a.json", "b.json", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema_version"] == 1
    assert list(document["levels"]) == ["exact", "safe", "loose", "masked"]
    assert [keys["same"] for keys in document["levels"].values()] == [False, False, True, True]
    assert {d["path"]: d["merged_at"] for d in document["differences"]} == {
        "messages[0].content": "loose",
        "user": "exact",
    }
    assert document["bypass"] == []


def test_people_read_the_same(bodies: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "a.json", "b.json"]) == 0
    out = capsys.readouterr().out
    assert "messages[0].content: text, merged from level loose" in out
    assert "user: ignored, no part of the key" in out


def test_bodies_may_be_packed(
    bodies: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", "a.json", "b.json"]) == 0
    plain = capsys.readouterr().out
    (bodies / "a.json.gz").write_bytes(gzip.compress((bodies / "a.json").read_bytes()))
    packed = zstandard.compress((bodies / "b.json").read_bytes())
    (bodies / "b.json.zst").write_bytes(packed)
    assert run(["explain", "a.json.gz", "b.json.zst"]) == 0
    assert capsys.readouterr().out == plain
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(packed)))
    assert run(["explain", "a.json", "-"]) == 0
    assert capsys.readouterr().out == plain
    (bodies / "cut.gz").write_bytes((bodies / "a.json.gz").read_bytes()[:-9])
    assert run(["explain", "cut.gz", "b.json"]) == 2
    assert "cut.gz cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("command", examples("explain"))
def test_the_examples_of_the_help_run(command: list[str], bodies: Path) -> None:
    assert run(command) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.json"], "two bodies are compared"),
        (["a.json", "none.json"], "none.json cannot be read"),
        (["a.json", "b.json", "--path", "/v1/nothing"], "no dialect claims '/v1/nothing'"),
        (["a.json", "b.json", "--mask", "emails"], "unknown kind of mask 'emails'"),
        (["a.json", "b.json", "--allow", "everything"], "unknown reason 'everything'"),
        (["a.json", "broken.json"], "the body is not JSON"),
        (["a.json", "b.json", "--against", "http://127.0.0.1:1"], "--against takes one body"),
        (["a.json", "--against", "127.0.0.1:1"], "is not the URL of a server"),
        (["a.json", "--against", "http://127.0.0.1:1", "--key-env", "NO_SUCH_KEY"], "NO_SUCH_KEY is not set"),
    ],
)
def test_wrong_usage_is_said_plainly(
    arguments: list[str], said: str, bodies: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (bodies / "broken.json").write_text("{")
    assert run(["explain", *arguments]) == 2
    assert said in capsys.readouterr().err


class _Server(BaseHTTPRequestHandler):
    asked: list[tuple[str, str | None, object]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append((self.path, self.headers["authorization"], body))
        status, headers, answer = self.answer  # type: ignore[attr-defined]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *ignored: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    _Server.asked = []
    with HTTPServer(("127.0.0.1", 0), _Server) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield listening
        listening.shutdown()
        thread.join()


def test_a_running_server_is_asked_with_the_key_and_its_answer_shown(
    bodies: Path, server: HTTPServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _Server.answer = 200, {}, {"schema_version": 1, "why": "the prompt", "parts": [{"path": "n", "verdict": "differs"}]}
    monkeypatch.setenv("ADMIN", "ek-not-a-real-key-at-all")
    url = f"http://127.0.0.1:{server.server_port}"
    assert run(["explain", "a.json", "--against", url, "--key-env", "ADMIN"]) == 0
    assert capsys.readouterr().out == "the prompt\n    n: differs\n"
    body = {"path": "/v1/chat/completions", "body": {**_A, "max_tokens": 5}}
    assert _Server.asked == [("/_edgeinf/api/explain", "Bearer ek-not-a-real-key-at-all", body)]
    assert run(["explain", "a.json", "--against", url, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["why"] == "the prompt"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((403, {}, {}), "the server answered 403"),
        ((302, {"location": "http://127.0.0.1:1/"}, {}), "the server answered 302"),
        ((404, {}, {}), "the server answered 404"),
    ],
    ids=["forbidden", "redirect", "absent"],
)
def test_a_server_that_does_not_answer_is_exit_code_five(
    answer: object, said: str, bodies: Path, server: HTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    _Server.answer = answer
    assert run(["explain", "a.json", "--against", f"http://127.0.0.1:{server.server_port}"]) == 5
    assert said in capsys.readouterr().err
    assert len(_Server.asked) == 1
