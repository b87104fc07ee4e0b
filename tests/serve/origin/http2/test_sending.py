"""Requests on their way out: which fields travel, and bodies that go as fast as the origin lets them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from edgeinf.serve.origin.client import Request
from edgeinf.serve.origin.http2.sending import fields
from edgeinf.serve.origin.pool import Connections
from tests.serve.origin.http2.scripted import Asked, request, scripted
from tests.serve.origin.raw import body_of

Certificate = tuple[Path, Path]


async def echo(asked: Asked) -> None:
    await asked.whole.wait()
    asked.head()
    await asked.pour(bytes(asked.body))


def test_only_what_may_travel_travels():
    given = [
        (b"x-a", b" 1 "),
        (b"te", b"trailers"),
        (b"connection", b"close"),
        (b"keep-alive", b"5"),
        (b"upgrade", b"h2c"),
        (b"http2-settings", b"x"),
        (b"transfer-encoding", b"chunked"),
        (b"proxy-connection", b"x"),
        (b"host", b"elsewhere"),
        (b"content-length", b"9"),
    ]
    out = fields([(b":method", b"POST")], Request(method="POST", url="https://a/", headers=given, body=b"{}"))
    assert out == [(b":method", b"POST"), (b"x-a", b"1"), (b"content-length", b"2")]


@pytest.mark.parametrize("name", [b"authorization", b"x-api-key", b"cookie"])
def test_credentials_stay_out_of_what_compression_remembers(name: bytes):
    out = fields([], Request(method="GET", url="https://a/", headers=[(name, b"s"), (b"x-a", b"1")]))
    assert [getattr(pair, "indexable", True) for pair in out] == [False, True]


async def test_the_origin_gets_the_request_whole(client: Connections, certificate: Certificate):
    async with scripted(certificate, echo) as origin:
        asked = request(origin.url, path="/v1/x?y=1", headers=[(b"authorization", b"Bearer k")], body=b"hello")
        assert await body_of(await client.send(asked)) == b"hello"
        assert origin.asked[0].fields == {
            b":method": b"POST",
            b":scheme": b"https",
            b":authority": f"localhost:{origin.port}".encode(),
            b":path": b"/v1/x?y=1",
            b"authorization": b"Bearer k",
            b"content-length": b"5",
        }


@pytest.mark.parametrize(
    ("method", "length"), [("GET", None), ("POST", b"0"), ("DELETE", None)], ids=["GET", "POST", "DELETE"]
)
async def test_a_request_without_a_body_ends_with_its_head(
    client: Connections, certificate: Certificate, method: str, length: bytes | None
):
    async with scripted(certificate, echo) as origin:
        assert await body_of(await client.send(request(origin.url, method, body=b""))) == b""
        assert origin.asked[0].fields.get(b"content-length") == length


@pytest.mark.parametrize("window", [1000, 65_535, 2**20], ids=["small window", "usual window", "large window"])
async def test_a_large_body_arrives_as_it_is(client: Connections, certificate: Certificate, window: int):
    body = bytes(range(256)) * 4096  # 1 MiB
    async with scripted(certificate, echo) as origin:
        origin.settings[SettingCodes.INITIAL_WINDOW_SIZE] = window
        small = client.send(request(origin.url, body=b"small"))
        large, other = await asyncio.gather(client.send(request(origin.url, body=body)), small)
        assert await body_of(other) == b"small"
        assert await body_of(large) == body
        assert origin.opened == 1


async def test_a_window_that_the_settings_open_is_used(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        await asyncio.sleep(0.05)
        asked.peer.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: 100_000})
        asked.peer.flush()
        await asked.whole.wait()
        asked.answer(b"%d" % len(asked.body))

    async with scripted(certificate, handle) as origin:
        origin.settings[SettingCodes.INITIAL_WINDOW_SIZE] = 0
        assert await client.warm(origin.url, 1, http2=True) == 1
        await asyncio.sleep(0.05)
        assert await body_of(await client.send(request(origin.url, body=b"x" * 50_000))) == b"50000"


async def pieces(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
        await asyncio.sleep(0)


async def test_a_body_in_pieces_is_streamed(client: Connections, certificate: Certificate):
    parts = [b"one", b"", b"x" * 200_000, b"end"]
    async with scripted(certificate, echo) as origin:
        response = await client.send(request(origin.url, body=pieces(*parts)))
        assert await body_of(response) == b"".join(parts)
        assert b"content-length" not in origin.asked[0].fields


async def test_an_upload_waits_while_the_origin_takes_nothing(client: Connections, certificate: Certificate):
    given = 0

    async def body() -> AsyncIterator[bytes]:
        nonlocal given
        for _ in range(200):
            given += 65_536
            yield b"x" * 65_536

    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.answer()

    async with scripted(certificate, handle) as origin:
        origin.reads = False
        task = asyncio.create_task(client.send(request(origin.url, body=body())))
        await origin.until(lambda: origin.asked and len(origin.asked[0].body) == 65_535)
        await asyncio.sleep(0.1)
        assert given <= 3 * 65_536
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await origin.until(lambda: origin.asked[0].reset == ErrorCodes.CANCEL)


async def test_an_early_answer_ends_the_upload(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        asked.head(status=b"413", end=True)

    async def body() -> AsyncIterator[bytes]:
        yield b"ab"
        await asyncio.sleep(60)

    async with scripted(certificate, handle) as origin:
        response = await asyncio.wait_for(client.send(request(origin.url, body=body())), 10)
        assert (response.status, await body_of(response)) == (413, b"")
        await origin.until(lambda: origin.asked[0].reset is not None)
        assert origin.closed == 0


async def test_an_upload_that_fails_raises_its_own_error_and_ends_its_stream(
    client: Connections, certificate: Certificate
):
    async def body() -> AsyncIterator[bytes]:
        yield b"ab"
        raise RuntimeError("the client left")

    async def handle(asked: Asked) -> None:
        await asked.whole.wait()

    async with scripted(certificate, handle) as origin:
        with pytest.raises(RuntimeError):
            await client.send(request(origin.url, body=body()))
        await origin.until(lambda: origin.asked[0].reset == ErrorCodes.CANCEL)
        assert origin.closed == 0
