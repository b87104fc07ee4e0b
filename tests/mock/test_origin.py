"""The scripted origin as test equipment."""

from __future__ import annotations

import asyncio

import anthropic
import openai
import pytest

from edgeinf.core.errors import UsageError
from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask, chat, messages, request_bytes


async def test_both_sdks_read_the_same_text_from_a_stream_as_from_a_whole_answer(origin: MockOrigin) -> None:
    prompt = [{"role": "user", "content": "hi"}]
    async with openai.AsyncOpenAI(base_url=f"{origin.url}/v1", api_key="k", max_retries=0) as client:
        whole = await client.chat.completions.create(model="m", messages=prompt)
        stream = await client.chat.completions.create(model="m", messages=prompt, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
    async with anthropic.AsyncAnthropic(base_url=origin.url, api_key="k", max_retries=0) as claude:
        message = await claude.messages.create(model="c", max_tokens=50, messages=prompt)
        async with claude.messages.stream(model="c", max_tokens=50, messages=prompt) as events:
            streamed = await events.get_final_message()

    assert text == whole.choices[0].message.content
    assert streamed.content[0].text == message.content[0].text
    assert streamed.usage.output_tokens == message.usage.output_tokens == 16
    assert origin.count == 4


async def test_calls_are_recorded_with_their_instants_in_order(origin: MockOrigin) -> None:
    origin.use({"ttft": "20ms", "tpot": "5ms", "answer": {"tokens": 3}})

    await ask(origin, "/v1/chat/completions?x=1", chat(stream=True), headers={"X-Team": "a"})

    call = origin.calls[0]
    assert (call.method, call.path, call.query, call.json["model"]) == ("POST", "/v1/chat/completions", "x=1", "m")
    assert call.headers["x-team"] == "a"
    assert call.started_ns <= call.received_ns <= call.headers_ns <= call.token_ns[0]
    assert len(call.token_ns) == 3
    assert call.token_ns[0] - call.received_ns >= 19_000_000
    assert call.token_ns[2] - call.received_ns >= 29_000_000  # each is due by itself, however late the one before
    assert call.token_ns == sorted(call.token_ns)
    assert call.outcome == "done"


async def test_a_client_that_leaves_is_noticed(origin: MockOrigin) -> None:
    origin.use({"fault": "stall;after=2"})
    _, writer = await asyncio.open_connection(origin.host, origin.port)
    writer.write(request_bytes("POST", "/v1/chat/completions", chat(stream=True)))
    await origin.until(lambda: origin.active == 1)

    writer.close()

    await origin.until_idle()
    assert origin.calls[0].outcome == "disconnected"
    assert origin.calls[0].disconnected_ns > origin.calls[0].headers_ns > 0


async def test_held_answers_go_on_when_released(origin: MockOrigin) -> None:
    origin.use({"fault": "stall;at=headers"})
    asked = [asyncio.create_task(ask(origin, "/v1/messages", messages())) for _ in range(3)]
    await origin.until(lambda: origin.active == 3)

    origin.release()

    assert {reply.status for reply in await asyncio.gather(*asked)} == {200}
    assert origin.peak == 3


async def test_a_region_that_is_down_refuses_and_returns_on_its_port(origin: MockOrigin) -> None:
    url = origin.url
    origin.down()
    with pytest.raises(ConnectionRefusedError):
        await ask(origin, "/v1/models")

    await origin.up()

    assert origin.url == url
    assert (await ask(origin, "/v1/chat/completions", chat())).status == 200


async def test_a_frozen_origin_says_nothing_on_any_connection_until_it_thaws(origin: MockOrigin) -> None:
    origin.freeze(0.3)
    before = asyncio.get_running_loop().time()

    await ask(origin, "/v1/chat/completions", chat())

    assert asyncio.get_running_loop().time() - before >= 0.25


async def test_regions_are_told_apart_by_their_answers(make_origin) -> None:  # type: ignore[no-untyped-def]
    east, west = await make_origin({"name": "east"}), await make_origin({"name": "west"})

    replies = [await ask(region, "/v1/chat/completions", chat()) for region in (east, west)]

    assert [reply.json["system_fingerprint"] for reply in replies] == ["fp_east", "fp_west"]
    assert len({reply.json["choices"][0]["message"]["content"] for reply in replies}) == 1


async def test_an_occupied_port_is_a_clear_error(origin: MockOrigin) -> None:
    with pytest.raises(UsageError, match=f"cannot listen .127.0.0.1:{origin.port}"):
        async with MockOrigin(port=origin.port):
            pass


async def test_a_number_that_is_no_port_is_a_clear_error() -> None:
    with pytest.raises(UsageError, match="70000 is not a port"):
        async with MockOrigin(port=70000):
            pass


async def test_pipelined_requests_are_answered_in_order(origin: MockOrigin) -> None:
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    bodies = [chat(max_tokens=n) for n in range(1, 400)]
    writer.write(b"".join(request_bytes("POST", "/v1/chat/completions", body) for body in bodies))
    await origin.until_calls(399)
    await origin.until_idle()
    writer.close()

    assert [call.json["max_tokens"] for call in origin.calls] == list(range(1, 400))
    assert reader is not None


async def test_polls_of_health_are_not_counted_as_calls_that_cost(origin: MockOrigin) -> None:
    await ask(origin, "/v1/models")
    await ask(origin, "/v1/chat/completions", chat())

    assert (origin.count, origin.record.total, len(origin.calls_to("/models"))) == (1, 2, 1)
