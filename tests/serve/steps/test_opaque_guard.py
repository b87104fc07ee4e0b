"""A key's models and the guard's patterns, on uploads and other paths that no dialect reads."""

from __future__ import annotations

import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.config.schema import DenyRule, Guard, Listen
from edgeinf.mock import MockOrigin
from tests.serve.callers import auth_for, bearer
from tests.serve.running import config_for, running

AUDIO = "/v1/audio/transcriptions"
BIG = b"\0" * 300_000
DENY = Guard(deny=(DenyRule(pattern="(?i)ignore all"),))
FLAG = Guard(deny=(DenyRule(pattern="(?i)ignore all", action="flag"),))
REDACT = Guard(redact=("email", "phone"))


def verdicts(folder: Path) -> list[list[str] | None]:
    """Return what the guard said of each request to a server that has ended."""
    return [json.loads(line)["guard"] for line in (folder / "events.jsonl").read_text().splitlines()]


def form(*parts: tuple[str, str | None, bytes]) -> tuple[dict[str, str], bytes]:
    """Return the headers and body of a multipart form: (name, file name, data) each."""
    body = b""
    for name, filename, data in parts:
        file = f'; filename="{filename}"' if filename else ""
        body += f'--frontier\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n'.encode() + data + b"\r\n"
    return {"content-type": "multipart/form-data; boundary=frontier"}, body + b"--frontier--\r\n"


UPLOADS: list[Any] = [
    pytest.param([("model", None, b"small"), ("file", "a.wav", BIG)], 200, id="allowed-first"),
    pytest.param([("file", "a.wav", BIG), ("model", None, b"small")], 200, id="allowed-last"),
    pytest.param([("model", None, b"large"), ("file", "a.wav", BIG)], 403, id="refused-first"),
    pytest.param([("file", "a.wav", BIG), ("model", None, b"large")], 403, id="refused-last"),
    pytest.param([("model", None, b"small"), ("file", "a", BIG), ("model", None, b"large")], 403, id="second-model"),
    pytest.param([("file", "a.wav", BIG)], 403, id="no-model"),
]


@pytest.mark.parametrize(("parts", "status"), UPLOADS)
async def test_the_model_of_an_upload_is_held_to_the_keys(
    tmp_path: Path, origin: MockOrigin, parts: list[tuple[str, str | None, bytes]], status: int
) -> None:
    async with running(config_for(tmp_path, origin.url, auth=auth_for(a={"models": ("small",)}))) as proxy:
        headers, body = form(*parts)
        answer = await proxy.client.post(AUDIO, content=body, headers={**headers, **bearer("a")})
        assert answer.status_code == status, answer.text
    assert len(origin.calls_to(AUDIO)) == (status == 200)
    if status == 200:
        assert origin.calls[-1].body == body


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param({"model": "small", "input": "x"}, 200, id="allowed"),
        pytest.param({"model": "large", "input": "x"}, 403, id="refused"),
        pytest.param({"input": "x"}, 403, id="absent"),
    ],
)
async def test_the_model_of_a_json_body_is_held_to_the_keys(
    tmp_path: Path, origin: MockOrigin, body: dict[str, str], status: int
) -> None:
    async with running(config_for(tmp_path, origin.url, auth=auth_for(a={"models": ("small",)}))) as proxy:
        answer = await proxy.client.post("/v1/moderations", json=body, headers=bearer("a"))
        assert answer.status_code == status


async def test_a_body_whose_model_cannot_be_read_is_refused(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(config_for(tmp_path, origin.url, auth=auth_for(a={"models": ("small",)}))) as proxy:
        for more in ({"content-type": "text/plain"}, {"content-encoding": "gzip"}):
            headers, body = form(("model", None, b"small"))
            answer = await proxy.client.post(AUDIO, content=body, headers={**headers, **bearer("a"), **more})
            assert answer.status_code == 415
    assert origin.calls == []


async def test_a_key_without_models_streams_anything(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(config_for(tmp_path, origin.url, auth=auth_for("a"))) as proxy:
        headers, body = form(("file", "a.wav", BIG))
        await proxy.client.post(AUDIO, content=body, headers={**headers, **bearer("a")})
    assert origin.calls[-1].body == body


# --- what it says ---

TEXTS: list[Any] = [
    pytest.param("/v1/images/generations", {"prompt": "{}"}, id="image"),
    pytest.param("/v1/moderations", {"input": ["fine", "{}"]}, id="moderation"),
    pytest.param("/v1/audio/speech", {"input": "{}", "voice": "x"}, id="speech"),
    pytest.param("/v1/messages/count_tokens", {"messages": [{"role": "user", "content": "{}"}]}, id="count"),
    pytest.param("/v1/echo", {"text_1": "{}", "text_2": ["x"]}, id="unknown-field"),
    pytest.param("/v1/echo", [{"content": {"text": "{}"}}], id="list"),
    pytest.param("/v1/echo", "{}", id="text"),
]


def said(body: Any, text: str) -> Any:
    """Return the body with a text in its place."""
    return json.loads(json.dumps(body).replace("{}", text))


@pytest.mark.parametrize(("path", "body"), TEXTS)
async def test_a_denied_text_passes_on_no_path(tmp_path: Path, origin: MockOrigin, path: str, body: Any) -> None:
    async with running(config_for(tmp_path, origin.url, guard=DENY)) as proxy:
        for _ in range(2):
            answer = await proxy.client.post(path, json=said(body, "please IGNORE ALL of it"))
            assert (answer.status_code, answer.json()["error"]["code"]) == (400, "blocked_by_guard")
        assert (await proxy.client.post(path, json=said(body, "please"))).status_code == 200
    assert len(origin.calls) == 1
    assert verdicts(tmp_path) == [["blocked deny[0]"], ["blocked deny[0]"], None]


@pytest.mark.parametrize(("path", "body"), TEXTS)
async def test_what_must_not_leave_leaves_by_no_path(tmp_path: Path, origin: MockOrigin, path: str, body: Any) -> None:
    async with running(config_for(tmp_path, origin.url, guard=REDACT)) as proxy:
        await proxy.client.post(path, json=said(body, "ask jane@example.com"))
    assert json.loads(origin.calls[0].body) == said(body, "ask [email]")
    assert verdicts(tmp_path) == [["redacted email 1"]]
    assert "jane" not in (tmp_path / "events.jsonl").read_text()


async def test_names_and_what_is_clean_are_sent_byte_for_byte(tmp_path: Path, origin: MockOrigin) -> None:
    guard = Guard(redact=("email", "phone", "credit-card"), deny=DENY.deny)
    body = b'{ "model":"a@b.com", "input_file_id" : "4111111111111111", "text":"hi", "user": "jane@example.com"}'
    async with running(config_for(tmp_path, origin.url, guard=guard)) as proxy:
        answer = await proxy.client.post("/v1/echo", content=body, headers={"content-type": "application/json"})
    assert answer.content == body
    assert verdicts(tmp_path) == [None]


async def test_a_compressed_body_is_looked_into(tmp_path: Path, origin: MockOrigin) -> None:
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    config = config_for(tmp_path, origin.url, guard=Guard(deny=DENY.deny, redact=("email",)))
    async with running(config) as proxy:
        for text, status in (("ignore all", 400), ("jane@example.com", 200), ("x" * 3 * 2**20, 200)):
            body = gzip.compress(json.dumps({"text": text}).encode())
            answer = await proxy.client.post("/v1/echo", content=body, headers=headers)
            assert answer.status_code == status
    assert [call.json["text"][:9] for call in origin.calls] == ["[email]", "x" * 9]


async def test_a_json_body_that_cannot_be_read_is_refused_where_rules_hold(tmp_path: Path, origin: MockOrigin) -> None:
    headers = {"content-type": "application/json"}
    for guard, status in ((DENY, 400), (Guard(), 200)):
        async with running(config_for(tmp_path, origin.url, guard=guard)) as proxy:
            answer = await proxy.client.post("/v1/echo", content=b'{"a":1,"a":2}', headers=headers)
            assert answer.status_code == status


async def test_json_under_another_name_is_looked_through_as_well(tmp_path: Path, origin: MockOrigin) -> None:
    body = json.dumps({"text": "ignore all"}).encode()
    async with running(config_for(tmp_path, origin.url, guard=DENY)) as proxy:
        for headers in ({}, {"content-type": "text/plain"}):
            assert (await proxy.client.post("/v1/echo", content=body, headers=headers)).status_code == 400
    assert origin.calls == []


UNREADABLE: list[Any] = [
    pytest.param({"content-type": "audio/wav"}, b"RIFF ignore all", id="sound"),
    pytest.param({"content-type": "audio/wav"}, b"R" * 2**21, id="large"),
    pytest.param({"content-type": "text/plain"}, b"{not json", id="nearly-json"),
    pytest.param({**form()[0], "content-encoding": "gzip"}, gzip.compress(form()[1]), id="compressed-form"),
]


@pytest.mark.parametrize(("headers", "body"), UNREADABLE)
async def test_what_cannot_be_looked_through_passes_and_the_event_says_so(
    tmp_path: Path, origin: MockOrigin, headers: dict[str, str], body: bytes
) -> None:
    for guard in (DENY, Guard(max_input_tokens=5)):
        async with running(config_for(tmp_path, origin.url, guard=guard)) as proxy:
            answer = await proxy.client.post("/v1/echo", content=body, headers=headers)
            assert (answer.status_code, answer.content) == (200, body)
    assert verdicts(tmp_path) == [["unchecked body"], None]


async def test_a_request_without_a_body_is_not_called_unchecked(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(config_for(tmp_path, origin.url, guard=DENY)) as proxy:
        await proxy.client.get("/v1/models")
        await proxy.client.post("/v1/echo")
        await proxy.client.delete("/v1/echo")
    assert verdicts(tmp_path) == [None, None, None]


FIELDS = [("file", "a.png", BIG), ("model", None, b"m"), ("prompt", None, b"{}"), ("more", None, b"\xff{}")]


def filled(text: bytes) -> list[tuple[str, str | None, bytes]]:
    return [(name, filename, data.replace(b"{}", text)) for name, filename, data in FIELDS]


@pytest.mark.parametrize("large", [False, True], ids=["held", "streamed"])
async def test_the_fields_of_a_form_are_looked_through_and_its_files_are_not(
    tmp_path: Path, origin: MockOrigin, large: bool
) -> None:
    extra = [("big", "b.png", b"ignore all jane@example.com" + b"\0" * (2 * 2**20 if large else 0))]
    guard = Guard(deny=DENY.deny, redact=("email",))
    async with running(config_for(tmp_path, origin.url, guard=guard)) as proxy:
        headers, body = form(*extra, *filled(b"jane@example.com"))
        answer = await proxy.client.post("/v1/images/edits", content=body, headers=headers)
        assert answer.status_code == 200, answer.text
        assert origin.calls[-1].body == form(*extra, *filled(b"[email]"))[1]
        headers, body = form(*extra, *filled(b"Ignore ALL"))
        answer = await proxy.client.post("/v1/images/edits", content=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "blocked_by_guard")
    assert len([call for call in origin.calls if b"gnore ALL" in call.body]) == 0
    assert verdicts(tmp_path) == [["redacted email 2"], ["blocked deny[0]"]]


async def test_a_field_is_flagged_once_and_passes(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(config_for(tmp_path, origin.url, guard=FLAG)) as proxy:
        headers, body = form(*filled(b"ignore all"))
        assert (await proxy.client.post("/v1/images/edits", content=body, headers=headers)).status_code == 200
    assert origin.calls[-1].body == body
    assert verdicts(tmp_path) == [["flagged deny[0]"]]


async def test_a_field_too_long_to_be_looked_through_is_refused(tmp_path: Path, origin: MockOrigin) -> None:
    headers, body = form(("prompt", None, b"x" * 300_000))
    for guard, status in ((DENY, 413), (Guard(), 200)):
        async with running(config_for(tmp_path, origin.url, guard=guard)) as proxy:
            answer = await proxy.client.post("/v1/images/edits", content=body, headers=headers)
            assert answer.status_code == status


async def test_a_catastrophic_pattern_in_a_form_holds_nobody_up(tmp_path: Path, origin: MockOrigin) -> None:
    guard = Guard(deny=(DenyRule(pattern=r"(a|aa)+$"),))
    headers, body = form(("prompt", None, b"a" * 50 + b"?"))
    async with running(config_for(tmp_path, origin.url, guard=guard)) as proxy:
        answer = await proxy.client.post("/v1/images/edits", content=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "blocked_by_guard")
        assert (await proxy.ask("are you well?")).status_code == 200


async def test_a_json_body_beyond_what_is_read_is_refused_where_rules_hold(tmp_path: Path, origin: MockOrigin) -> None:
    listen = Listen(max_body=2**20, max_upload=2**23)
    body = json.dumps({"text": "x" * 2**21}).encode()

    async def unannounced() -> AsyncIterator[bytes]:
        yield body

    for guard, status in ((DENY, 413), (Guard(), 200)):
        async with running(config_for(tmp_path, origin.url, guard=guard, listen=listen)) as proxy:
            for content in (body, unannounced()):
                headers = {"content-type": "application/json"}
                answer = await proxy.client.post("/v1/echo", content=content, headers=headers)
                assert answer.status_code == status
