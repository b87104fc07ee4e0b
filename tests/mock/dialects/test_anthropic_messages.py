"""Anthropic messages."""

from __future__ import annotations

from typing import Any

import anthropic

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask, messages

PATH = "/v1/messages"
PROMPT: Any = [{"role": "user", "content": "hi"}]


def types(data: list[Any]) -> list[str]:
    return [event["type"] for event in data]


async def test_events_come_in_their_order(origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 2, "reasoning": 1}})
    data = (await ask(origin, PATH, messages(stream=True))).data

    assert types(data) == [
        *("message_start", "content_block_start", "ping", "content_block_delta", "content_block_delta"),
        *("content_block_stop", "content_block_start", "content_block_delta", "content_block_delta"),
        *("content_block_stop", "message_delta", "message_stop"),
    ]
    deltas = [event["delta"]["type"] for event in data if event["type"] == "content_block_delta"]
    assert deltas == ["thinking_delta", "signature_delta", "text_delta", "text_delta"]


async def test_every_event_is_named(origin: MockOrigin) -> None:
    reply = await ask(origin, PATH, messages(stream=True))

    names = [event.split("\n")[0].removeprefix("event: ") for event in reply.events]
    assert names == types(reply.data)


async def test_the_sdk_folds_the_stream_into_the_whole_answer(origin: MockOrigin) -> None:
    origin.use(
        {
            "answer": {"tokens": 3, "reasoning": 2, "tool_calls": 2, "text": "so é", "cached_tokens": 5},
            "fixed_ids": True,
        }
    )
    async with anthropic.AsyncAnthropic(base_url=origin.url, api_key="k", max_retries=0) as client:
        whole = await client.messages.create(model="c", max_tokens=100, messages=PROMPT)
        async with client.messages.stream(model="c", max_tokens=100, messages=PROMPT) as stream:
            folded = await stream.get_final_message()

    assert [b.type for b in folded.content] == ["thinking", "text", "tool_use", "tool_use"]
    strip = {"parsed_output"}
    assert [b.model_dump(exclude=strip) for b in folded.content] == [b.model_dump() for b in whole.content]
    assert folded.content[2].input == {"city": "São Paulo", "days": 3}  # type: ignore[union-attr]
    assert folded.usage.output_tokens == whole.usage.output_tokens
    assert whole.usage.cache_read_input_tokens == 5
    assert (whole.stop_reason, folded.stop_reason, folded.id) == ("tool_use", "tool_use", whole.id)


async def test_stop_reasons_follow_the_limit_and_the_script(origin: MockOrigin) -> None:
    short = (await ask(origin, PATH, messages(max_tokens=2))).json
    origin.use({"answer": {"finish": "pause_turn"}})
    paused = (await ask(origin, PATH, messages())).json
    origin.use({"answer": {"refusal": "no"}})
    refused = (await ask(origin, PATH, messages())).json

    assert [m["stop_reason"] for m in (short, paused, refused)] == ["max_tokens", "pause_turn", "refusal"]
    assert refused["content"] == [{"type": "text", "text": "no"}]


async def test_pings_come_as_often_as_scripted(origin: MockOrigin) -> None:
    counts = []
    for pings in (0, 1, 2):
        origin.use({"answer": {"tokens": 6, "pings": pings}})
        counts.append(types((await ask(origin, PATH, messages(stream=True))).data).count("ping"))

    assert counts == [0, 1, 4]


async def test_usage_is_cumulative_and_can_come_twice(origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 6, "usage": "every"}})
    data = (await ask(origin, PATH, messages(stream=True))).data

    assert [e["usage"]["output_tokens"] for e in data if e["type"] == "message_delta"] == [3, 6]
    assert data[0]["message"]["usage"]["output_tokens"] == 1


async def test_usage_can_be_missing(origin: MockOrigin) -> None:
    origin.use({"answer": {"usage": "none"}})
    data = (await ask(origin, PATH, messages(stream=True))).data

    assert not any("usage" in event or "usage" in event.get("message", {}) for event in data)
    assert "usage" not in (await ask(origin, PATH, messages())).json


async def test_citations_are_deltas(origin: MockOrigin) -> None:
    origin.use({"answer": {"annotations": [{"type": "char_location", "cited_text": "x"}], "tokens": 1}})
    data = (await ask(origin, PATH, messages(stream=True))).data
    whole = (await ask(origin, PATH, messages())).json

    citations = [e["delta"]["citation"] for e in data if e.get("delta", {}).get("type") == "citations_delta"]
    assert citations == whole["content"][0]["citations"]


async def test_an_unfinished_message_has_no_stop_reason(origin: MockOrigin) -> None:
    origin.use({"fault": ["no-finish", "no-done"]})
    data = (await ask(origin, PATH, messages(stream=True))).data

    assert types(data)[-1] == "content_block_stop"
    assert (await ask(origin, PATH, messages())).json["stop_reason"] is None


async def test_tokens_are_counted_on_request(origin: MockOrigin) -> None:
    reply = await ask(origin, "/v1/messages/count_tokens", messages())

    assert reply.json["input_tokens"] > 0


async def test_blocks_of_any_kind_can_come_first(origin: MockOrigin) -> None:
    block = {"type": "redacted_thinking", "data": "EmwKAhgB"}
    origin.use({"answer": {"blocks": [block], "tokens": 1}})
    data = (await ask(origin, PATH, messages(stream=True))).data
    whole = (await ask(origin, PATH, messages())).json

    assert whole["content"][0] == block
    assert next(e["content_block"] for e in data if e["type"] == "content_block_start") == block
    assert [e["index"] for e in data if e["type"] == "content_block_stop"] == [0, 1]
