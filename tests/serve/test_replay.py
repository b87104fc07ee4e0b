"""An answer from what is stored: at its pace, or instead of an error, and always labelled as what it is."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import AnswerRules, Cache, DenyRule, Failover, Routing
from edgeinf.mock import MockOrigin
from edgeinf.serve.reload import apply_config
from tests.serve.proxying import Proxy, chat, messages, proxying, region, text_of
from tests.serve.short import Way, one_way
from tests.serve.wire import post, wired

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/v1/chat/completions"


@pytest_asyncio.fixture(loop_scope="module")
async def origin() -> AsyncIterator[MockOrigin]:
    async with MockOrigin() as own:
        yield own


# --- at its pace ---


async def paced(way: Way, body: dict[str, Any], path: str = CHAT) -> tuple[bytes, list[float]]:
    """Return a stream's bytes and the seconds at which its chunks came."""
    started, at, got = time.monotonic(), [], []
    async with way.client.stream("POST", path, json=body) as answer:
        assert answer.headers["x-edgeinf-cache"] == "hit"
        async for chunk in answer.aiter_raw():
            at.append(time.monotonic() - started)
            got.append(chunk)
    return b"".join(got), at


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, chat(stream=True)),
        (CHAT, chat(stream=True, stream_options={"include_usage": True})),
        ("/v1/messages", messages(stream=True)),
    ],
    ids=["chat", "usage", "messages"],
)
@pytest.mark.parametrize(
    "rules", [AnswerRules(), AnswerRules(strip=("reasoning",), footer=" end")], ids=["plain", "rules"]
)
async def test_a_paced_replay_takes_the_time_it_took_at_first(
    origin: MockOrigin, path: str, body: dict[str, Any], rules: AnswerRules
) -> None:
    """Also for a client that does not see every event that was stored."""
    origin.use({"tpot": "60ms", "answer": {"tokens": 7}, "packets": "event"})
    async with one_way(origin, cache=Cache(disk=None, replay="paced"), answer=rules) as way:
        first = await way.client.post(path, json=body)
        origin.use({"answer": {"tokens": 7}})
        replayed, at = await paced(way, body, path)
    assert replayed == first.content
    assert len(at) >= 7
    assert 0.3 < at[-1] < 6
    assert at[0] < 0.3


async def test_a_document_is_replayed_as_a_stream_at_an_even_pace(origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 10}})
    async with one_way(origin, cache=Cache(disk=None, replay="paced")) as way:
        await way.client.post(CHAT, json=chat())
        replayed, at = await paced(way, chat(stream=True))
    assert replayed.endswith(b"data: [DONE]\n\n")
    assert at[-1] > 0.02


async def test_a_pause_of_the_first_answer_is_not_all_waited_for(
    origin: MockOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeinf.serve.replay._MAX_GAP_S", 0.05)
    origin.use({"tpot": "900ms", "answer": {"tokens": 3}})
    async with one_way(origin, cache=Cache(disk=None, replay="paced")) as way:
        await way.client.post(CHAT, json=chat(stream=True))
        _, at = await paced(way, chat(stream=True))
    assert at[-1] < 0.9


async def test_a_client_that_leaves_within_a_paced_replay_leaves_nothing_running(origin: MockOrigin) -> None:
    origin.use({"tpot": "60ms", "answer": {"tokens": 10}})
    async with one_way(origin, cache=Cache(disk=None, replay="paced")) as way:
        await way.client.post(CHAT, json=chat(stream=True))
        async with wired(way.url) as wire:
            await wire.send(post(chat(stream=True)))
            await wire.reader.readuntil(b"data: ")
        async with asyncio.timeout(20):
            while way.runtime.in_progress():  # noqa: ASYNC110 - it tells nobody
                await asyncio.sleep(0.02)
        assert way.events[-1].cache == "hit"


async def test_what_a_rule_blocks_is_refused_before_anything_is_replayed(origin: MockOrigin) -> None:
    origin.use({"answer": {"text": "nothing wrong until the last word is forbidden"}})
    async with one_way(origin, cache=Cache(disk=None, replay="paced")) as way:
        await way.client.post(CHAT, json=chat(stream=True))
        config = replace(way.runtime.generation.config, answer=AnswerRules(deny=(DenyRule(pattern="forbidden"),)))
        assert apply_config(way.runtime, config) is None
        answer = await way.client.post(CHAT, json=chat(stream=True))
        assert answer.status_code >= 400
        assert "nothing wrong" not in answer.text


# --- instead of an error ---


@pytest_asyncio.fixture(loop_scope="module")
async def stale(origin: MockOrigin) -> AsyncIterator[tuple[Proxy, FakeClock, str]]:
    """A proxy whose only entry has just expired, and the text of that."""
    clock = FakeClock()
    cache = Cache(disk=None, ttl=100.0, ttl_jitter=0.0, stale_if_error=1000.0)
    routing = Routing(strategy="priority", failover=Failover(attempts=1))
    async with proxying(region(origin, "only", passthrough=True), cache=cache, clock=clock, routing=routing) as running:
        first = await running.post(CHAT, chat())
        clock.advance(101)
        yield running, clock, text_of(first)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("failure", ["503", "429", "down"])
async def test_where_the_origin_fails_the_old_answer_is_served_and_labelled(
    stale: tuple[Proxy, FakeClock, str], origin: MockOrigin, failure: str, stream: bool
) -> None:
    proxy, clock, text = stale
    origin.down() if failure == "down" else origin.use({"fault": failure})
    answer = await proxy.post(CHAT, chat(stream=stream))
    assert (answer.status_code, text_of(answer)) == (200, text)
    assert answer.headers["x-edgeinf-cache"] == "stale"
    assert answer.headers["cache-status"].startswith("edgeinf; fwd=stale")
    assert int(answer.headers["age"]) == 101
    clock.advance(998)
    assert (await proxy.post(CHAT, chat(stream=stream))).headers["x-edgeinf-cache"] == "stale"
    clock.advance(2)  # beyond stale_if_error
    late = await proxy.post(CHAT, chat(stream=stream))
    assert late.status_code >= 429


@pytest.mark.parametrize("failure", ["404", "400"])
async def test_an_answer_that_says_no_is_passed_on_and_is_no_failure(
    stale: tuple[Proxy, FakeClock, str], origin: MockOrigin, failure: str
) -> None:
    proxy, _, text = stale
    origin.use({"fault": failure})
    for _ in range(2):
        refused = await proxy.post(CHAT, chat())
        assert refused.status_code == int(failure)
        assert refused.headers["x-edgeinf-cache"] == "miss"
        assert "stored" not in refused.headers["cache-status"].split("; ")
    origin.use({})
    fresh = await proxy.post(CHAT, chat())
    assert (fresh.status_code, fresh.headers["x-edgeinf-cache"]) == (200, "miss")
    assert text_of(fresh) == text


@pytest.mark.parametrize("header", ["max-age=500", "no-cache"])
async def test_who_wants_no_old_answer_gets_the_error(
    stale: tuple[Proxy, FakeClock, str], origin: MockOrigin, header: str
) -> None:
    proxy, _, _ = stale
    origin.use({"fault": "503"})
    answer = await proxy.post(CHAT, chat(), cache_control=header)
    assert answer.status_code == 503


async def test_an_old_answer_is_as_old_as_the_asker_says(
    stale: tuple[Proxy, FakeClock, str], origin: MockOrigin
) -> None:
    proxy, clock, _ = stale
    origin.use({"fault": "503"})
    clock.advance(950 - 101)
    assert (await proxy.post(CHAT, chat(), x_edgeinf_ttl="10s")).headers["x-edgeinf-cache"] == "stale"
    clock.advance(100)  # beyond stale_if_error for who lets answers live for so long, not for the others
    assert (await proxy.post(CHAT, chat(), x_edgeinf_ttl="10s")).status_code == 503
    assert (await proxy.post(CHAT, chat())).headers["x-edgeinf-cache"] == "stale"


async def test_without_an_old_answer_there_is_an_error(stale: tuple[Proxy, FakeClock, str], origin: MockOrigin) -> None:
    proxy, _, _ = stale
    origin.use({"fault": "503"})
    assert (await proxy.post(CHAT, chat("something else"))).status_code == 503


# --- in another shape ---

_BROKEN_ARGUMENTS = (
    {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"a": '}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
)


def unfoldable(origin: MockOrigin, **more: Any) -> None:
    """Have streams of messages answered with one whose arguments are no JSON, which a client may mend."""
    events = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _BROKEN_ARGUMENTS]
    origin.use({"rules": [{"when": {"stream": True}, "answer": {"raw": events}, **more}]})


async def test_a_stream_that_cannot_be_had_whole_is_no_hit_for_who_wants_it_whole(origin: MockOrigin) -> None:
    unfoldable(origin)
    async with proxying(region(origin, "only"), cache=Cache(disk=None)) as proxy:
        calls = len(origin.calls)
        streams = [await proxy.post("/v1/messages", messages(stream=True)) for _ in range(2)]
        assert [answer.headers["x-edgeinf-cache"] for answer in streams] == ["miss", "hit"]
        assert streams[0].content == streams[1].content
        refused = await proxy.post("/v1/messages", messages(), cache_control="only-if-cached")
        assert (refused.status_code, refused.json()["error"]["code"]) == (504, "not_cached")
        wholes = [await proxy.post("/v1/messages", messages()) for _ in range(3)]
        assert [(a.status_code, a.headers["x-edgeinf-cache"]) for a in wholes] == [(200, "miss"), *[(200, "hit")] * 2]
        assert "age" not in wholes[0].headers
        assert len(origin.calls) == calls + 2


async def test_who_follows_a_stream_that_cannot_be_had_whole_asks_for_itself(origin: MockOrigin) -> None:
    unfoldable(origin, ttft="300ms")
    async with proxying(region(origin, "only"), cache=Cache(disk=None)) as proxy:
        leading = asyncio.create_task(proxy.post("/v1/messages", messages("both", stream=True)))
        async with asyncio.timeout(10):
            while not proxy.runtime.flights:  # noqa: ASYNC110  # there is no event for it
                await asyncio.sleep(0.005)
        whole = await proxy.post("/v1/messages", messages("both"))
        assert (await leading).status_code == 200
    assert (whole.status_code, whole.json()["type"]) == (200, "message")
