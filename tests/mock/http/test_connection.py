"""Reading requests from a connection."""

from __future__ import annotations

import asyncio

import pytest

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask, chat, read_reply, request_bytes


async def exchange(origin: MockOrigin, *parts: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    for part in parts:
        writer.write(part)
        await writer.drain()
        await asyncio.sleep(0)
    writer.write_eof()
    data = await asyncio.wait_for(reader.read(), 10)
    writer.close()
    return data


async def test_a_request_may_come_byte_by_byte(origin: MockOrigin) -> None:
    raw = request_bytes("POST", "/v1/chat/completions", chat())
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    for index in range(len(raw)):
        writer.write(raw[index : index + 1])
        await asyncio.sleep(0)
    reply = await asyncio.wait_for(read_reply(reader), 10)
    writer.close()

    assert reply.status == 200
    assert origin.calls[0].body == raw.partition(b"\r\n\r\n")[2]


async def test_a_chunked_request_body_is_joined(origin: MockOrigin) -> None:
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    writer.write(
        b"POST /v1/echo HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    reply = await asyncio.wait_for(read_reply(reader), 10)
    writer.close()

    assert reply.body == b"abcde"


async def test_a_connection_is_used_again_and_its_uses_are_counted(origin: MockOrigin) -> None:
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    for _ in range(3):
        writer.write(request_bytes("POST", "/v1/chat/completions", chat()))
        await asyncio.wait_for(read_reply(reader), 10)
    writer.close()

    assert [(call.connection, call.connection_use) for call in origin.calls] == [(1, 1), (1, 2), (1, 3)]
    assert origin.record.connections == 1


async def test_an_old_client_gets_its_body_ended_by_the_connection(origin: MockOrigin) -> None:
    body = b'{"model":"m","stream":true,"messages":[]}'
    head = b"POST /v1/chat/completions HTTP/1.0\r\ncontent-length: %d\r\n\r\n" % len(body)
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    writer.write(head + body)
    data = await asyncio.wait_for(reader.read(), 10)
    writer.close()

    assert b"transfer-encoding" not in data
    assert data.endswith(b"data: [DONE]\n\n")


async def test_a_client_that_waits_for_leave_to_send_gets_it(origin: MockOrigin) -> None:
    body = b'{"model":"m","messages":[]}'
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: %d\r\n\r\n" % len(body)
    )
    leave = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
    writer.write(body)
    reply = await asyncio.wait_for(read_reply(reader), 10)
    writer.close()

    assert leave.startswith(b"HTTP/1.1 100 ")
    assert reply.status == 200


async def test_what_is_not_http_is_refused_and_the_origin_lives_on(origin: MockOrigin) -> None:
    assert (await exchange(origin, b"\x16\x03\x01 nonsense\r\n\r\n")).startswith(b"HTTP/1.1 400 ")
    assert (await ask(origin, "/v1/models")).status == 200
    assert origin.record.total == 1


@pytest.mark.parametrize("method", ["HEAD", "GET"])
async def test_head_is_answered_without_a_body(origin: MockOrigin, method: str) -> None:
    reply = await ask(origin, "/v1/models", method=method)

    assert reply.status == 200
    assert bool(reply.body) is (method == "GET")
    assert int(reply.headers["content-length"]) > 0


async def test_requests_behind_a_slow_one_wait_for_their_turn(origin: MockOrigin) -> None:
    origin.use({"rules": [{"when": {"nth": 1}, "fault": "stall;at=headers"}]})
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    writer.write(request_bytes("GET", "/v1/models/absent") + request_bytes("GET", "/health"))
    await origin.until_calls(1)
    origin.release()
    statuses = [(await asyncio.wait_for(read_reply(reader), 10)).status for _ in range(2)]
    writer.close()

    assert statuses == [404, 200]
