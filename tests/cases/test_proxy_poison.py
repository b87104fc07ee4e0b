"""Only complete, good answers are kept (P39 to P50, P83)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Cache, Failover, Routing
from edgeinf.mock import MockOrigin
from tests.serve.proxying import Proxy, chat, data, messages, proxying, region, text_of

CHAT = "/v1/chat/completions"
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": (CHAT, chat()),
    "completions": ("/v1/completions", {"model": "m", "prompt": "hi"}),
    "messages": ("/v1/messages", messages()),
    "responses": ("/v1/responses", {"model": "m", "input": "hi"}),
}
END = {"chat": b"[DONE]", "completions": b"[DONE]", "messages": b"message_stop", "responses": b"response.completed"}


async def _kind(proxy: Proxy, path: str, body: dict[str, Any]) -> str:
    """Return what the cache does now that the origin is well."""
    answer = await proxy.post(path, body)
    assert answer.status_code == 200, answer.text
    return answer.headers["x-edgeinf-cache"]


@pytest.mark.parametrize("dialect", ASKED)
@pytest.mark.parametrize("fault", ["truncate;tokens=3", "no-done", "cut;tokens=3", "reset;tokens=3"])
async def test_a_stream_that_ends_early_gets_no_end_invented_and_is_not_kept(
    fault: str, dialect: str, origin: MockOrigin, proxy: Proxy
) -> None:
    """P39, P46."""
    path, body = ASKED[dialect]
    body = {**body, "stream": True}
    origin.use({"fault": fault})
    answer = await proxy.post(path, body)
    assert answer.status_code == 200
    assert END[dialect] not in answer.content
    assert b'"error"' in answer.content
    origin.use({})
    assert await _kind(proxy, path, body) == "miss"
    assert await _kind(proxy, path, body) == "hit"


@pytest.mark.parametrize(
    ("dialect", "fields", "script"),
    [
        pytest.param("chat", {"n": 2, "stream": True}, {"fault": "finish-first-only"}, id="P40 one choice of two"),
        pytest.param("chat", {"stream": True}, {"fault": "no-finish"}, id="P40 the marker alone"),
        pytest.param("chat", {"n": 2}, {"fault": "finish-first-only"}, id="P40 whole"),
        pytest.param("chat", {}, {"fault": "empty-choices"}, id="P42 whole"),
        pytest.param("chat", {"stream": True}, {"fault": "empty-choices"}, id="P42 stream"),
        pytest.param("responses", {}, {"answer": {"finish": "length"}}, id="P43 whole"),
        pytest.param("responses", {"stream": True}, {"answer": {"finish": "length"}}, id="P43 stream"),
        pytest.param("chat", {}, {"answer": {"finish": "content_filter"}}, id="P50 filtered"),
        pytest.param("chat", {"stream": True}, {"answer": {"finish": "content_filter"}}, id="P50 filtered stream"),
        pytest.param("messages", {}, {"answer": {"finish": "pause_turn"}}, id="paused"),
        pytest.param("messages", {"stream": True}, {"answer": {"finish": "pause_turn"}}, id="paused stream"),
    ],
)
async def test_what_is_not_an_answer_is_passed_on_and_not_kept(
    dialect: str, fields: dict[str, Any], script: dict[str, Any], origin: MockOrigin, proxy: Proxy
) -> None:
    path, body = ASKED[dialect]
    body = {**body, **fields}
    origin.use(script)
    first = await proxy.post(path, body)
    assert first.status_code == 200
    origin.use({})
    assert await _kind(proxy, path, body) == "miss"
    if not fields.get("stream"):
        assert "detail=" in first.headers["cache-status"]


async def test_an_incomplete_response_stays_incomplete(origin: MockOrigin, proxy: Proxy) -> None:
    """P43."""
    origin.use({"answer": {"finish": "length"}})
    for stream in (False, True):
        answer = await proxy.post("/v1/responses", {"model": "m", "input": "hi", "stream": stream})
        shown = data(answer)[-1]["response"] if stream else answer.json()
        assert shown["status"] == "incomplete"
        assert shown["incomplete_details"] == {"reason": "max_output_tokens"}


async def test_what_ended_at_its_length_is_kept_for_the_same_length(origin: MockOrigin, proxy: Proxy) -> None:
    """P50: max_tokens is in the key, so nobody else gets it."""
    origin.use({"answer": {"finish": "length"}})
    assert await _kind(proxy, CHAT, chat(max_tokens=5)) == "miss"
    assert await _kind(proxy, CHAT, chat(max_tokens=5)) == "hit"
    assert await _kind(proxy, CHAT, chat(max_tokens=50)) == "miss"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("fault", ["400", "404", "429", "500", "503", "529", "html;status=502"])
async def test_an_error_is_passed_on_and_not_kept(fault: str, stream: bool, origin: MockOrigin) -> None:
    """P48."""
    routing = Routing(strategy="priority", failover=Failover(retry_on=()))
    async with proxying(region(origin, "r"), routing=routing, cache=Cache(disk=None)) as proxy:
        origin.use({"fault": fault})
        status = 502 if fault.startswith("html") else int(fault)
        assert (await proxy.post(CHAT, chat(stream=stream))).status_code == status
        origin.use({})
        assert await _kind(proxy, CHAT, chat(stream=stream)) == "miss"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("dialect", ASKED)
async def test_an_error_inside_a_200_is_an_error(dialect: str, stream: bool, origin: MockOrigin, proxy: Proxy) -> None:
    """P49."""
    path, body = ASKED[dialect]
    body = {**body, "stream": stream}
    origin.use({"fault": "soft-error"})
    answer = await proxy.post(path, body)
    assert answer.status_code == 502
    assert "Overloaded" in answer.text
    origin.use({})
    assert await _kind(proxy, path, body) == "miss"


@pytest.mark.parametrize("dialect", ASKED)
async def test_an_error_later_in_a_stream_is_passed_on_and_nothing_kept(
    dialect: str, origin: MockOrigin, proxy: Proxy
) -> None:
    path, body = ASKED[dialect]
    body = {**body, "stream": True}
    origin.use({"fault": "soft-error;tokens=2", "tpot": "50ms"})
    answer = await proxy.post(path, body)
    assert answer.status_code == 200
    assert b"Overloaded" in answer.content
    assert END[dialect] not in answer.content
    origin.use({})
    assert await _kind(proxy, path, body) == "miss"


async def test_what_an_answer_says_against_keeping_it_is_in_the_header(origin: MockOrigin, proxy: Proxy) -> None:
    reasons = {
        "store": chat(store=True),
        "web-search": chat(web_search_options={}),
        "no-store": chat("no store"),
    }
    for reason, body in reasons.items():
        headers = {"cache_control": "no-store"} if reason == "no-store" else {}
        answer = await proxy.post(CHAT, body, **headers)
        assert f'detail="{reason}"' in answer.headers["cache-status"]
        assert await _kind(proxy, CHAT, body) in ("bypass", "miss")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_an_old_answer_stands_in_for_an_error_but_not_for_a_refusal(stream: bool, origin: MockOrigin) -> None:
    """P83."""
    clock = FakeClock()
    routing = Routing(strategy="priority", failover=Failover(retry_on=()))
    cache = Cache(disk=None, ttl=60.0, ttl_jitter=0.0, stale_if_error=600.0)
    body = chat(stream=stream)
    async with proxying(region(origin, "r"), routing=routing, cache=cache, clock=clock) as proxy:
        first = await proxy.post(CHAT, body)
        clock.advance(61)
        origin.use({"fault": "503"})
        stale = await proxy.post(CHAT, body)
        assert (stale.status_code, stale.headers["x-edgeinf-cache"]) == (200, "stale")
        assert text_of(stale) == text_of(first)
        assert "fwd=stale" in stale.headers["cache-status"]
        assert stale.headers["age"] == "61"
        origin.use({"fault": "404"})
        refused = await proxy.post(CHAT, body)
        assert refused.status_code == 404
        strict = await proxy.post(CHAT, body, cache_control="max-age=5")
        assert strict.status_code == 404
        clock.advance(700)
        origin.use({"fault": "503"})
        assert (await proxy.post(CHAT, body)).status_code == 503
        origin.use({})
        clock.advance(60)
        assert await _kind(proxy, CHAT, body) == "miss"


async def test_headers_of_one_request_never_reach_another(origin: MockOrigin, proxy: Proxy) -> None:
    own = {"set-cookie": "s=1", "x-ratelimit-remaining-requests": "5", "retry-after": "9", "openai-version": "v"}
    origin.use({"headers": own})
    first = await proxy.post(CHAT, chat())
    again = await proxy.post(CHAT, chat())
    assert "set-cookie" not in first.headers
    assert first.headers["x-ratelimit-remaining-requests"] == "5"
    assert {name for name in own if name in again.headers} == {"openai-version"}
    assert first.headers["x-request-id"]
    assert "x-request-id" not in again.headers
    assert json.loads(again.content) == json.loads(first.content)
