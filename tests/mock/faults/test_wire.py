"""Faults of the connection."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from edgeinf.mock import MockOrigin
from tests.mock.http_client import Reply, ask, chat, read_reply, request_bytes


async def got(origin: MockOrigin, fault: Any, **more: Any) -> Reply:
    origin.use({"fault": fault, "answer": {"tokens": 4}})
    return await ask(origin, "/v1/chat/completions", chat(**more))


@pytest.mark.parametrize("after", [0, 1, 3])
async def test_a_cut_leaves_the_http_body_unfinished_after_so_many_events(origin: MockOrigin, after: int) -> None:
    reply = await got(origin, f"cut;after={after}", stream=True)

    assert (reply.status, len(reply.events), reply.complete, reply.error) == (200, after, False, "")
    assert origin.calls[0].outcome == "cut"


async def test_a_truncated_stream_ends_its_http_body_properly(origin: MockOrigin) -> None:
    reply = await got(origin, "truncate;tokens=2", stream=True)

    assert (len(reply.events), reply.complete) == (3, True)
    assert "[DONE]" not in reply.body.decode()


async def test_a_reset_is_a_reset(origin: MockOrigin) -> None:
    reply = await got(origin, ["reset;after=2", "stall;after=2;for=50ms"], stream=True)

    assert (reply.status, reply.complete, reply.error) == (200, False, "ConnectionResetError")
    assert origin.calls[0].outcome == "reset"


@pytest.mark.parametrize("kind", ["cut", "reset"])
async def test_the_end_can_come_before_the_headers(origin: MockOrigin, kind: str) -> None:
    reply = await got(origin, f"{kind};at=headers")

    assert reply.status == 0
    assert reply.error == {"cut": "IncompleteReadError", "reset": "ConnectionResetError"}[kind]
    assert origin.calls[0].headers_ns == 0


async def test_a_whole_body_is_cut_in_its_middle(origin: MockOrigin) -> None:
    reply = await got(origin, "cut")

    assert not reply.complete
    assert 0 < len(reply.body) < int(reply.headers["content-length"])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_stall_of_some_time_goes_on_by_itself(origin: MockOrigin, stream: bool) -> None:
    reply = await got(origin, "stall;after=1;for=20ms", stream=stream)

    assert reply.complete
    if stream:
        first, second = origin.calls[0].event_ns[:2]
        assert second - first >= 19_000_000


async def test_late_headers_are_late(origin: MockOrigin) -> None:
    await got(origin, "slow-headers;by=30ms")

    assert origin.calls[0].headers_ns - origin.calls[0].received_ns >= 29_000_000


@pytest.mark.parametrize(("by", "complete"), [(10, False), (-10, True)], ids=["too-long", "too-short"])
async def test_a_wrong_length_is_announced(origin: MockOrigin, by: int, complete: bool) -> None:
    reply = await got(origin, f"length;by={by}")

    assert reply.complete is complete
    right = await got(origin, [])
    assert int(reply.headers["content-length"]) == int(right.headers["content-length"]) + by


async def test_a_body_can_end_with_the_connection(origin: MockOrigin) -> None:
    reply = await got(origin, "eof", stream=True)

    assert "content-length" not in reply.headers
    assert "transfer-encoding" not in reply.headers
    assert reply.body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(("fault", "said"), [("close", None), ("close;said", "close")], ids=["silent", "said"])
async def test_a_connection_can_close_after_a_complete_answer(origin: MockOrigin, fault: str, said: str | None) -> None:
    origin.use({"fault": fault})
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    writer.write(request_bytes("POST", "/v1/chat/completions", chat()))
    reply = await read_reply(reader)

    assert reply.complete
    assert reply.headers.get("connection") == said
    assert await asyncio.wait_for(reader.read(), 10) == b""
    writer.close()


async def test_a_freeze_holds_every_connection(origin: MockOrigin) -> None:
    origin.use({"rules": [{"when": {"nth": 1}, "fault": "freeze;for=200ms"}]})
    loop = asyncio.get_running_loop()
    begun = loop.time()

    await asyncio.gather(*(ask(origin, "/v1/chat/completions", chat()) for _ in range(3)))

    assert loop.time() - begun >= 0.19


async def test_a_region_that_goes_down_resets_everybody_and_returns(origin: MockOrigin) -> None:
    origin.use({"rules": [{"when": {"nth": 2}, "fault": "down;for=50ms"}, {"when": {"nth": 1}, "fault": "stall"}]})
    held = asyncio.create_task(ask(origin, "/v1/chat/completions", chat(stream=True)))
    await origin.until_calls(1)

    killer = await ask(origin, "/v1/chat/completions", chat())

    assert killer.error == (await held).error == "ConnectionResetError"
    await origin.until(lambda: origin._server is not None)
    assert (await ask(origin, "/v1/chat/completions", chat())).status == 200
