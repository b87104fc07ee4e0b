"""A hit is the answer that was given, in either shape (P25 to P37)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import httpx
import pytest

from edgeinf.core.config.schema import Cache, Events
from edgeinf.mock import MockOrigin
from tests.cases.saying import said
from tests.serve.proxying import Proxy, chat, data, messages, proxying, region

CHAT = "/v1/chat/completions"
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": (CHAT, chat()),
    "completions": ("/v1/completions", {"model": "m", "prompt": "hi"}),
    "messages": ("/v1/messages", messages()),
    "responses": ("/v1/responses", {"model": "m", "input": "hi"}),
}
# What answers hold beside plain text, each where the dialect has it.
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {"tokens": 8},
    "reasoning": {"reasoning": 3, "tokens": 5},
    "tools": {"tool_calls": [{"parts": 4}, {"name": "other", "arguments": '{"a":1}', "parts": 2}], "tokens": 3},
    "refusal": {"refusal": "I would rather not"},
    "unicode": {"unicode": True, "tokens": 20},
    "usage": {"cached_tokens": 7, "hidden_reasoning": 5, "tokens": 3},
    "no usage details": {"cached_tokens": 0, "tokens": 3},
    "vendor fields": {"extra": {"provider": "p"}, "tokens": 3},
    "cut off at its length": {"finish": "length", "tokens": 3},
}
_FINISH = {"messages": "max_tokens"}


def _shape(dialect: str, name: str) -> dict[str, Any]:
    shape = dict(SHAPES[name])
    if "finish" in shape:
        shape["finish"] = _FINISH.get(dialect, shape["finish"])
    return shape


# Incomplete responses are not kept, so there is nothing of them to replay.
REPLAYED = [
    pytest.param(dialect, shape, id=f"{dialect}-{shape}")
    for dialect in ASKED
    for shape in SHAPES
    if (dialect, shape) != ("responses", "cut off at its length")
]


@pytest.mark.parametrize(("dialect", "shape"), REPLAYED)
async def test_a_stream_is_replayed_byte_for_byte(dialect: str, shape: str, origin: MockOrigin, proxy: Proxy) -> None:
    """P25, P26, P28, P29, P35, P37: nothing is merged, dropped or invented."""
    origin.use({"answer": _shape(dialect, shape)})
    path, body = ASKED[dialect]
    body = {**body, "stream": True}
    if dialect in ("chat", "completions"):
        body["stream_options"] = {"include_usage": True}
    direct = await _directly(origin, path, body)
    first = await proxy.post(path, body)
    again = await proxy.post(path, body)
    assert again.content == first.content
    assert _sequence(first) == _sequence(direct)
    assert (first.headers["x-edgeinf-cache"], again.headers["x-edgeinf-cache"]) == ("miss", "hit")
    assert again.headers["content-type"].startswith("text/event-stream")
    assert "cache-status" in again.headers
    assert origin.count == 2


async def _directly(origin: MockOrigin, path: str, body: dict[str, Any]) -> httpx.Response:
    async with httpx.AsyncClient(base_url=origin.url) as client:
        return await client.post(path, json=body)


def _sequence(answer: httpx.Response) -> list[Any]:
    """Return a stream's events without what differs per call."""
    return [event if isinstance(event, str) else _without_ids(event) for event in data(answer)]


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        dropped = {"id", "created", "created_at", "call_id", "item_id", "signature", "tool_use_id", "completed_at"}
        return {name: _without_ids(inner) for name, inner in value.items() if name not in dropped}
    return [_without_ids(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("asked", [False, True], ids=["ask whole", "ask stream"])
@pytest.mark.parametrize("warm", [False, True], ids=["warm whole", "warm stream"])
@pytest.mark.parametrize("shape", ["plain", "reasoning", "tools", "unicode", "usage"])
@pytest.mark.parametrize("dialect", ASKED)
async def test_one_entry_serves_both_shapes(
    dialect: str, shape: str, warm: bool, asked: bool, origin: MockOrigin, proxy: Proxy
) -> None:
    """P30, P31: the content type asked for, the same answer, one call."""
    origin.use({"answer": _shape(dialect, shape), "fixed_ids": True})
    path, body = ASKED[dialect]
    if dialect in ("chat", "completions"):
        body = {**body, "stream_options": {"include_usage": True}}
    direct = await _directly(origin, path, {**body, "stream": asked})
    origin.reset()
    await proxy.post(path, {**body, "stream": warm})
    answer = await proxy.post(path, {**body, "stream": asked})
    assert origin.count == 1
    assert answer.headers["x-edgeinf-cache"] == "hit"
    assert answer.headers["content-type"].split(";")[0] == ("text/event-stream" if asked else "application/json")
    if warm == asked:
        assert answer.content == direct.content
    elif not asked:
        assert said(answer.json()) == said(direct.json())
    else:
        assert said(data(answer)[-1]) == said(data(direct)[-1])
        assert len(data(answer)) > 1


async def test_every_choice_keeps_its_own_end(origin: MockOrigin, proxy: Proxy) -> None:
    """P34."""
    body = chat(stream=True, n=2)
    await proxy.post(CHAT, body)
    chunks = [event for event in data(await proxy.post(CHAT, body)) if isinstance(event, dict)]
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    ends = [choice["index"] for choice in choices if choice["finish_reason"]]
    assert sorted(ends) == [0, 1]
    texts = ["".join(c["delta"].get("content") or "" for c in choices if c["index"] == n) for n in (0, 1)]
    assert texts[0] != texts[1]
    whole = (await proxy.post(CHAT, chat(n=2))).json()
    assert [choice["message"]["content"] for choice in whole["choices"]] == texts


async def test_responses_are_numbered_without_holes(origin: MockOrigin, proxy: Proxy) -> None:
    """P28, on a hit of either warmth."""
    for warm in (True, False):
        body = {"model": "m", "input": f"hi {warm}"}
        await proxy.post("/v1/responses", {**body, "stream": warm})
        events = data(await proxy.post("/v1/responses", {**body, "stream": True}))
        assert [event["sequence_number"] for event in events] == list(range(len(events)))
        assert events[0]["type"] == "response.created"
        assert events[-1]["type"] == "response.completed"


@pytest.mark.parametrize("first", [False, True], ids=["without", "with"])
async def test_usage_is_for_who_asked_for_it(first: bool, origin: MockOrigin, proxy: Proxy) -> None:
    """P29: the entry has it, whoever asked first."""
    for wants in (first, not first, first):
        answer = await proxy.post(CHAT, chat(stream=True, stream_options={"include_usage": wants}))
        chunks = [event for event in data(answer) if isinstance(event, dict)]
        assert ("usage" in chunks[0]) is wants
        assert (chunks[-1]["choices"] == []) is wants
        if wants:
            assert chunks[-1]["usage"]["completion_tokens"] > 0
    assert origin.count == 1


async def test_the_replay_carries_the_askers_own_fields(origin: MockOrigin, proxy: Proxy) -> None:
    body = {"model": "m", "input": "hi"}
    own = {"metadata": {"who": "second"}, "user": "second", "safety_identifier": "s2"}
    for stream in (True, False):
        await proxy.post("/v1/responses", {**body, "metadata": {"who": "first"}, "user": "first"})
        answer = await proxy.post("/v1/responses", {**body, **own, "stream": stream})
        assert answer.headers["x-edgeinf-cache"] == "hit"
        shown = data(answer)[-1]["response"] if stream else answer.json()
        assert {name: shown[name] for name in own} == own
        assert b"first" not in answer.content
    assert origin.count == 1


async def test_what_was_saved_is_in_the_event(origin: MockOrigin, tmp_path: Path) -> None:
    """P29, P32."""
    log = tmp_path / "events.jsonl"
    async with proxying(region(origin, "r"), cache=Cache(disk=None), events=Events(file=log)) as proxy:
        for _ in range(2):
            await proxy.post(CHAT, chat(stream=True, model="gpt-4o"))
    miss, hit = (json.loads(line) for line in log.read_text().splitlines())
    assert (miss["cache"], hit["cache"], hit["hits"], hit["tier"]) == ("miss", "hit", 1, "memory")
    assert hit["output_tokens"] == miss["output_tokens"] > 0
    assert hit["stream"] is True


@pytest.mark.parametrize("dialect", ASKED)
async def test_events_reach_the_client_as_the_origin_sends_them(dialect: str, origin: MockOrigin, proxy: Proxy) -> None:
    """P33, P81: no event waits for the next."""
    origin.use({"ttft": "100ms", "tpot": "100ms", "answer": {"tokens": 4}})
    path, body = ASKED[dialect]
    arrived: list[tuple[int, int]] = []
    async with proxy.client.stream("POST", path, json={**body, "stream": True}) as answer:
        size = 0
        async for chunk in answer.aiter_raw():
            size += len(chunk)
            arrived.append((perf_counter_ns(), size))
    sent = origin.calls[0].token_ns
    assert len(sent) >= 4
    gaps = [min(at for at, _ in arrived if at >= instant) - instant for instant in sent]
    assert sorted(gaps)[len(gaps) // 2] < 50_000_000
    assert len(arrived) >= len(sent)


async def test_a_paced_replay_keeps_the_gaps(origin: MockOrigin) -> None:
    origin.use({"ttft": "1ms", "tpot": "100ms", "answer": {"tokens": 5}})
    async with proxying(region(origin, "r"), cache=Cache(disk=None, replay="paced")) as proxy:
        first = await proxy.post(CHAT, chat(stream=True))
        began = perf_counter_ns()
        again = await proxy.post(CHAT, chat(stream=True))
        took_s = (perf_counter_ns() - began) / 1e9
    assert again.content == first.content
    assert took_s > 0.1


async def test_a_slow_reader_of_a_hit_gets_all_of_it(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"answer": {"tokens": 6_000}})
    first = await proxy.post(CHAT, chat(stream=True))
    async with proxy.client.stream("POST", CHAT, json=chat(stream=True)) as answer:
        gathered = b""
        async for chunk in answer.aiter_raw(65536):
            gathered += chunk
            await asyncio.sleep(0.002)
    assert gathered == first.content
