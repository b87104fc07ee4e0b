"""The steps in their order, and that every call ends once: with an answer, an event, and nothing kept."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
import pytest_asyncio

from edgeinf.core.config.schema import Cache, DenyRule, Failover, Guard, Limit, Routing
from edgeinf.mock import MockOrigin
from tests.serve.callers import auth_for, bearer
from tests.serve.proxying import chat
from tests.serve.short import Way, one_way
from tests.serve.wire import post, wired

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/v1/chat/completions"


@pytest_asyncio.fixture(loop_scope="module")
async def origin() -> AsyncIterator[MockOrigin]:
    async with MockOrigin() as own:
        yield own


@pytest_asyncio.fixture(loop_scope="module")
async def way(origin: MockOrigin) -> AsyncIterator[Way]:
    """A proxy with keys, a guard, and one slot per key."""
    async with one_way(
        origin,
        auth=auth_for("anna", narrow={"models": ("other",)}),
        guard=Guard(deny=(DenyRule(pattern="forbidden"),)),
        limits=(Limit(name="slot", per="key", concurrency=1, requests=(1000, 60.0)),),
        routing=Routing(strategy="priority", failover=Failover(attempts=1)),
        cache=Cache(disk=None, stale_if_error=0.0),
    ) as running:
        yield running


async def ask(way: Way, body: Any, *, key: str = "anna", **headers: str) -> tuple[int, dict[str, str]]:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    named = {**bearer(key), "content-type": "application/json", **{n.replace("_", "-"): v for n, v in headers.items()}}
    answer = await way.client.post(CHAT, content=content, headers=named)
    return answer.status_code, dict(answer.headers)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - it is about others' tasks
            await asyncio.sleep(0.01)


DEEP = b'{"model":"m","messages":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize(
    ("body", "more", "status", "error", "calls"),
    [
        (chat(), {}, 200, None, 1),
        (chat(stream=True), {}, 200, None, 1),
        (chat(store=True), {}, 200, None, 1),
        (b"{", {}, 400, "invalid_json", 0),
        (DEEP, {}, 400, "invalid_json", 0),
        (chat("forbidden"), {}, 403, None, 0),
        (chat(), {"key": "nobody"}, 401, "invalid_api_key", 0),
        (chat(), {"key": "narrow"}, 403, "model_not_allowed", 0),
        (chat(), {"cache_control": "only-if-cached"}, 504, "not_cached", 0),
        (chat(), {"x_edgeinf_ttl": "soon"}, 400, "invalid_header", 0),
        (chat("fail"), {}, 503, None, 1),
    ],
    ids=["whole", "stream", "bypass", "json", "deep", "guard", "auth", "model", "not-cached", "control", "origin"],
)
async def test_every_call_ends_with_one_event_and_gives_back_what_it_held(
    way: Way, origin: MockOrigin, body: Any, more: dict[str, str], status: int, error: str | None, calls: int
) -> None:
    if body == chat("fail"):
        origin.use({"fault": "503"})
    for round_ in (1, 2):
        found, _ = await ask(way, body, **more)
        assert found in ((status, 400) if status == 403 else (status,))
        assert len(way.events) == round_
        event = way.events[-1]
        assert event.status == found
        assert error is None or event.error == error
    assert (len(origin.calls) >= calls) if calls else origin.calls == []
    origin.use({})
    # The key's only slot is free again, and nothing is under way.
    assert (await ask(way, chat("and now"), cache_control="no-cache"))[0] == 200
    assert way.runtime.flights == {}


async def test_who_has_no_key_uses_up_nobodys_limit_and_is_remembered_nowhere(way: Way) -> None:
    for _ in range(5):
        assert (await ask(way, chat("x"), key="nobody"))[0] == 401
    _, headers = await ask(way, chat("x"))
    assert headers["x-ratelimit-remaining-requests"] == "999"
    assert headers["x-edgeinf-cache"] == "miss"


async def test_a_client_that_leaves_has_one_event_and_gives_its_slot_back(way: Way, origin: MockOrigin) -> None:
    origin.use({"ttft": "30s"})
    async with wired(way.url) as wire:
        await wire.send(post(chat("slow"), headers=bearer("anna").items()))
        await until(lambda: bool(origin.active))
        assert (await ask(way, chat("another")))[0] == 429
    await until(lambda: len(way.events) == 2)
    assert {(event.status, event.error) for event in way.events} >= {(499, "client_gone")}
    await until(lambda: not origin.active)
    origin.use({})
    assert (await ask(way, chat("another")))[0] == 200


@pytest.mark.parametrize("path", [CHAT, "/v1/messages", "/v1/files", "/healthz"])
async def test_a_bug_is_an_error_in_the_dialects_form_that_is_logged_and_counted(
    origin: MockOrigin, path: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with one_way(origin) as way:

        def broken(*_: object) -> None:
            raise ZeroDivisionError("of a test")

        for place in ("pipeline.read_call", "app.relay_opaque", "app.App._health"):
            monkeypatch.setattr(f"edgeinf.serve.{place}", broken)
        method = "POST" if path in (CHAT, "/v1/messages") else "GET"
        answer = await way.client.request(method, path, json=chat() if method == "POST" else None)
        assert answer.status_code == 500
        assert "ZeroDivisionError" in answer.json()["error"]["message"]
        assert "of a test" not in answer.text
        assert (answer.json().get("type") == "error") == (path == "/v1/messages")
        assert answer.headers["x-should-retry"] == "false"
        assert [(e.status, e.error) for e in way.events] == ([(500, "internal")] if method == "POST" else [])
    assert "a bug while answering" in caplog.text


async def test_a_bug_within_an_answer_cuts_it(
    origin: MockOrigin, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from edgeinf.serve.rendering import StreamRenderer

    fed: list[bytes] = []

    def broken(self: StreamRenderer, piece: bytes) -> bytes:
        fed.append(piece)
        if len(fed) > 1:
            raise ZeroDivisionError
        return piece

    origin.use({"answer": {"tokens": 5}, "tpot": "50ms"})
    monkeypatch.setattr(StreamRenderer, "feed", broken)
    async with one_way(origin) as way:
        async with wired(way.url) as wire:
            await wire.send(post(chat(stream=True)))
            got = await wire.ended()
        assert got.startswith(b"HTTP/1.1 200")
        assert not got.endswith(b"0\r\n\r\n")
        assert [(e.status, e.error) for e in way.events] == [(200, "internal")]
    assert "a bug while answering" in caplog.text
