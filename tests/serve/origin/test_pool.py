"""Connections that are kept: reused, not reused, warmed, and closed at once when nobody waits any more."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.mock import MockOrigin
from edgeinf.mock.tls import make_certificate, server_context
from edgeinf.serve.origin.client import ConnectFailed, ConnectionLost, Request
from edgeinf.serve.origin.pool import Connections
from tests.programs import need
from tests.serve.origin.raw import RawOrigin, body_of, raw_origin, request

OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"
CHAT = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}'


@pytest.fixture
async def client() -> AsyncIterator[Connections]:
    made = Connections()
    yield made
    await made.aclose()


async def get(client: Connections, origin: RawOrigin) -> bytes:
    return await body_of(await client.send(request(origin)))


async def test_a_connection_that_the_origin_closed_meanwhile_costs_no_error(client: Connections):
    async def handle(origin: RawOrigin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await origin.read_request(reader)
        writer.write(OK)
        if origin.opened == 1:
            await origin.read_request(reader)  # takes the second request and closes without a byte
            origin.requests.pop()
            writer.write_eof()
        else:
            await origin.read_request(reader)

    async with raw_origin(handle) as origin:
        assert await get(client, origin) == b"hi"
        assert await get(client, origin) == b"hi"
        assert (origin.opened, len(origin.requests)) == (2, 2)


async def test_a_fresh_connection_that_is_closed_is_an_error_not_a_loop(client: Connections):
    async def handle(origin: RawOrigin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await origin.read_request(reader)
        writer.write_eof()

    async with raw_origin(handle) as origin:
        with pytest.raises(ConnectionLost):
            await get(client, origin)
        assert origin.opened == 1


async def test_a_kept_connection_lost_long_after_the_request_is_an_error():
    clock = FakeClock()
    client = Connections(now=clock.monotonic)

    async def handle(origin: RawOrigin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await origin.read_request(reader)
        writer.write(OK)
        await origin.read_request(reader)
        clock.advance(30)  # it worked on it for half a minute: asking again would pay twice
        writer.write_eof()

    async with raw_origin(handle) as origin:
        await get(client, origin)
        with pytest.raises(ConnectionLost):
            await get(client, origin)
        assert origin.opened == 1
    await client.aclose()


@pytest.mark.parametrize(("wait_s", "opened"), [(44, 1), (46, 2)])
async def test_an_idle_connection_is_used_for_so_long(wait_s: float, opened: int):
    clock = FakeClock()
    client = Connections(now=clock.monotonic)
    async with raw_origin(OK) as origin:
        await get(client, origin)
        clock.advance(wait_s)
        await get(client, origin)
        assert origin.opened == opened
    await client.aclose()


async def test_a_connection_grows_no_older_than_a_changed_dns_answer_may_wait():
    clock = FakeClock()
    client = Connections(now=clock.monotonic)
    async with raw_origin(OK) as origin:
        for _ in range(20):
            await get(client, origin)
            clock.advance(40)
        assert origin.opened == 3  # 800 seconds of use, at most 300 each
        await origin.until(lambda: origin.closed >= 2)
    await client.aclose()


async def test_what_stays_unused_is_closed(client: Connections):
    clock = FakeClock()
    client = Connections(now=clock.monotonic)
    async with raw_origin(OK) as origin:
        await asyncio.gather(*(get(client, origin) for _ in range(20)))
        for _ in range(3):
            clock.advance(20)
            await get(client, origin)
        await origin.until(lambda: origin.opened - origin.closed == 1)
    await client.aclose()


async def test_warm_opens_what_is_missing_and_calls_use_it(client: Connections):
    async with raw_origin(OK) as origin:
        assert await client.warm(origin.url, 3) == 3
        assert await client.warm(origin.url, 3) == 3
        assert origin.opened == 3
        await asyncio.gather(*(get(client, origin) for _ in range(3)))
        assert origin.opened == 3


async def test_warm_replaces_what_the_origin_dropped(client: Connections):
    async def handle(origin: RawOrigin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if origin.opened <= 2:
            writer.write_eof()

    async with raw_origin(handle) as origin:
        await client.warm(origin.url, 2)
        await origin.until(lambda: origin.closed == 2)
        await client.warm(origin.url, 2)
        assert origin.opened == 4


@pytest.mark.parametrize("fault", ["slow-headers;by=60s", "stall;after=0", "stall;tokens=2"])
async def test_giving_up_closes_the_origins_connection_within_a_second(
    client: Connections, origin: MockOrigin, fault: str
):
    origin.use({"fault": fault})

    async def ask() -> None:
        url = f"{origin.url}/v1/chat/completions"
        await body_of(await client.send(Request(method="POST", url=url, headers=[], body=CHAT)))

    task = asyncio.create_task(ask())
    await origin.until(lambda: origin.active == 1)
    await asyncio.sleep(0.1)
    started = time.perf_counter()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await origin.until_idle(within_s=1.0)
    assert time.perf_counter() - started < 1.0
    assert origin.calls[0].outcome == "disconnected"


async def test_giving_up_while_connecting_leaves_nothing_open(client: Connections):
    listener = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0, backlog=0)
    listener.close()
    task = asyncio.create_task(client.send(Request(method="GET", url="http://192.0.2.1:9/", headers=[])))
    await asyncio.sleep(0.05)
    task.cancel()
    outcome = (await asyncio.gather(task, return_exceptions=True))[0]
    assert isinstance(outcome, asyncio.CancelledError | ConnectFailed)


async def test_a_reader_that_leaves_early_closes(client: Connections, origin: MockOrigin):
    origin.use({"tpot": "20ms", "answer": {"tokens": 500}})
    url = f"{origin.url}/v1/chat/completions"
    response = await client.send(Request(method="POST", url=url, headers=[], body=CHAT))
    await response.read()
    response.close()
    await origin.until_idle(within_s=1.0)


async def test_nothing_listens_is_a_word_about_it(client: Connections):
    with pytest.raises(ConnectFailed, match=r"cannot connect to 127\.0\.0\.1:9"):
        await client.send(Request(method="GET", url="http://127.0.0.1:9/", headers=[]))


@pytest.mark.parametrize("url", ["ftp://a/", "http:///x", "http://127.0.0.1:1/a b", "http://127.0.0.1:1/ü"])
async def test_what_no_request_line_can_carry_is_refused(client: Connections, url: str):
    with pytest.raises(ConnectFailed):
        await client.send(Request(method="GET", url=url, headers=[]))


async def test_tls_checks_the_chain(tmp_path: Path):
    need("openssl")
    certificate, key = make_certificate(tmp_path)
    async with MockOrigin(tls=server_context(certificate, key)) as origin:
        trusting, doubting = Connections(ca_file=str(certificate)), Connections()
        ask = Request(method="GET", url=f"https://localhost:{origin.port}/v1/models", headers=[])
        response = await trusting.send(ask)
        assert response.status == 200
        await body_of(response)
        with pytest.raises(ConnectFailed, match="TLS"):
            await doubting.send(ask)
        await trusting.aclose()
        await doubting.aclose()


async def test_tls_checks_the_name(tmp_path: Path):
    need("openssl")
    certificate, key = make_certificate(tmp_path, ["elsewhere.example"])
    async with MockOrigin(tls=server_context(certificate, key)) as origin:
        client = Connections(ca_file=str(certificate))
        with pytest.raises(ConnectFailed, match="TLS"):
            await client.send(Request(method="GET", url=f"https://localhost:{origin.port}/v1/models", headers=[]))
        await client.aclose()


async def test_a_changed_dns_answer_is_followed_when_connections_age():
    clock = FakeClock()
    addresses = ["127.0.0.1"]

    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    client = Connections(now=clock.monotonic, resolve=resolve)
    async with MockOrigin({"name": "old"}) as old, MockOrigin({"name": "new"}, host="127.0.0.2", port=old.port) as new:
        for _ in range(12):
            response = await client.send(
                Request(method="GET", url=f"http://region.example:{old.port}/v1/models", headers=[])
            )
            await body_of(response)
            addresses[:] = ["127.0.0.2"]
            clock.advance(40)
        assert len(old.calls) == 8
        assert len(new.calls) == 4
    await client.aclose()
