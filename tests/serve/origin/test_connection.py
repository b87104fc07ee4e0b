"""One connection, fed bytes: where an answer begins and ends, and when its socket may serve again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from edgeinf.serve.origin.client import ConnectionLost, Malformed, Request
from edgeinf.serve.origin.pool import Connections
from tests.serve.origin.raw import RawOrigin, body_of, raw_origin, request

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"


@pytest.fixture
async def client() -> AsyncIterator[Connections]:
    made = Connections()
    yield made
    await made.aclose()


@pytest.mark.parametrize(
    ("answer", "end", "status", "body", "kept"),
    [
        (OK, False, 200, b"hi", True),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", False, 200, b"hi", True),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil the end", True, 200, b"until the end", False),
        (b"HTTP/1.0 200 OK\r\n\r\nold", True, 200, b"old", False),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK, False, 200, b"hi", True),
        (
            b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + OK,
            False,
            200,
            b"hi",
            True,
        ),
        (b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi", False, 200, b"hi", False),
        (b"HTTP/1.1 204 No Content\r\n\r\n", False, 204, b"", True),
        (b"HTTP/1.1 404 Nope\r\ncontent-length: 0\r\n\r\n", False, 404, b"", True),
    ],
    ids=["length", "chunked", "until close", "1.0", "100 first", "103 and 102 first", "close", "204", "404"],
)
async def test_answers_end_where_they_end(
    client: Connections, answer: bytes, end: bool, status: int, body: bytes, kept: bool
):
    async with raw_origin(answer, end=end) as origin:
        for _ in range(2):
            response = await asyncio.wait_for(client.send(request(origin)), 5)
            assert (response.status, await asyncio.wait_for(body_of(response), 5)) == (status, body)
            assert not any(name == b"link" for name, _ in response.headers)
        assert origin.opened == (1 if kept else 2)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20])
async def test_it_does_not_matter_how_the_bytes_are_split(client: Connections, size: int):
    answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nx-b: 2\r\ntransfer-encoding: chunked\r\n\r\n"
    answer += b"3\r\nabc\r\n5;x=y\r\ndefgh\r\n0\r\nx-trailer: t\r\n\r\n"

    async def handle(origin: RawOrigin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await origin.read_request(reader)
        for start in range(0, len(answer), size):
            writer.write(answer[start : start + size])
            await writer.drain()
            await asyncio.sleep(0)

    async with raw_origin(handle) as origin:
        response = await client.send(request(origin))
        assert await body_of(response) == b"abcdefgh"
        assert response.headers == [(b"x-b", b"2"), (b"transfer-encoding", b"chunked")]


async def test_a_head_request_has_no_body_to_wait_for(client: Connections):
    async with raw_origin(b"HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n") as origin:
        response = await client.send(request(origin, "HEAD", body=b""))
        assert (response.status, await asyncio.wait_for(body_of(response), 5)) == (200, b"")


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n",
    ],
    ids=["nothing", "half a head", "short of its length", "half a chunk", "no last chunk"],
)
async def test_an_answer_that_is_not_whole_is_not_taken_for_one(client: Connections, answer: bytes):
    async with raw_origin(answer, end=True) as origin:
        with pytest.raises(ConnectionLost):
            await asyncio.wait_for(body_of(await client.send(request(origin))), 5)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 200_000,
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["another protocol", "an upgrade", "a head without end", "two lengths", "a bad chunk"],
)
async def test_what_is_not_http_is_refused_and_the_socket_closed(client: Connections, answer: bytes):
    async with raw_origin(answer) as origin:
        with pytest.raises(Malformed):
            await asyncio.wait_for(body_of(await client.send(request(origin))), 5)
        await origin.until(lambda: origin.closed == 1)


async def test_bytes_that_nobody_asked_for_spoil_the_connection(client: Connections):
    async with raw_origin(OK + b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil") as origin:
        for _ in range(2):
            assert await body_of(await client.send(request(origin))) == b"hi"
        assert origin.opened == 2


async def test_a_reader_that_is_slow_holds_the_origin_back(client: Connections):
    sent = 0

    async def handle(origin: RawOrigin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        await origin.read_request(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        for _ in range(400):
            writer.write(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            await writer.drain()
            sent += 65536
        writer.write(b"0\r\n\r\n")

    async with raw_origin(handle) as origin:
        response = await client.send(request(origin))
        await asyncio.sleep(0.3)
        held = sent
        assert len(await body_of(response)) == 400 * 65536
        assert held < 15 * 2**20  # the kernel's buffers and ours, not the whole


async def test_an_upload_is_streamed_and_an_early_answer_ends_it(client: Connections):
    async def handle(origin: RawOrigin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        origin.requests.append(await reader.readuntil(b"\r\n\r\n"))
        origin.requests.append(await reader.readuntil(b"\r\nab\r\n"))
        writer.write(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")

    async def body() -> AsyncIterator[bytes]:
        yield b"ab"
        await asyncio.sleep(60)

    async with raw_origin(handle) as origin:
        upload = Request(method="POST", url=origin.url + "/v1/files", headers=[], body=body())
        response = await asyncio.wait_for(client.send(upload), 5)
        assert response.status == 413
        assert await body_of(response) == b""
        assert b"transfer-encoding: chunked" in origin.requests[0]
        await origin.until(lambda: origin.closed == 1)  # half a request was sent, so no other may follow


async def test_an_upload_that_fails_raises_its_own_error_and_closes(client: Connections):
    async def body() -> AsyncIterator[bytes]:
        yield b"ab"
        raise RuntimeError("the client left")

    async def handle(origin: RawOrigin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"ab\r\n")

    async with raw_origin(handle) as origin:
        with pytest.raises(RuntimeError):
            await client.send(Request(method="POST", url=origin.url + "/v1/files", headers=[], body=body()))
        await origin.until(lambda: origin.closed == 1)
