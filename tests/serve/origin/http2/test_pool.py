"""Which connection a request goes out on, when another is opened, and what is asked for a second time."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from edgeinf.core.clock import FakeClock
from edgeinf.mock import MockOrigin
from edgeinf.mock.tls import server_context
from edgeinf.serve.origin.client import ConnectFailed, ConnectionLost, Malformed, Request
from edgeinf.serve.origin.pool import Connections
from tests.serve.origin.http2.scripted import Asked, hello, request, scripted
from tests.serve.origin.raw import body_of

Certificate = tuple[Path, Path]


def silent() -> tuple[socket.socket, int]:
    """Return a socket that lets connect and never shakes hands."""
    listener = socket.create_server(("127.0.0.1", 0))
    return listener, listener.getsockname()[1]


async def get(client: Connections, url: str) -> bytes:
    return await body_of(await client.send(request(url)))


async def test_an_origin_without_http2_is_asked_over_http1_and_that_is_remembered(
    client: Connections, certificate: Certificate
):
    async with MockOrigin(tls=server_context(*certificate)) as origin:
        url = f"https://localhost:{origin.port}/v1/models"
        asked = Request(method="GET", url=url, headers=[], http2=True)
        for _ in range(3):
            await body_of(await client.send(asked))
        assert origin.record.connections == 1  # the one that the offer ended in is used, and used again
        assert await client.warm(url, 3, http2=True) == 3
        await origin.until(lambda: origin.record.connections == 3)
        await client.aclose()


async def test_http2_is_offered_anew_after_a_while(certificate: Certificate):
    clock = FakeClock()
    client = Connections(ca_file=str(certificate[0]), now=clock.monotonic)
    async with MockOrigin(tls=server_context(*certificate)) as old:
        port = old.port
        asked = Request(method="GET", url=f"https://localhost:{port}/v1/models", headers=[], http2=True)
        await body_of(await client.send(asked))
        client.tidy()
        await client._http2._plain.aclose()  # type: ignore[union-attr]
    async with scripted(certificate, port=port) as origin:
        clock.advance(299)
        assert (await asyncio.gather(get(client, origin.url), return_exceptions=True))[0] != b"hi"
        clock.advance(2)
        assert await get(client, origin.url) == b"hi"
        assert "h2" in origin.chosen
    await client.aclose()


async def test_regions_with_different_choices_share_no_connection(client: Connections, certificate: Certificate):
    async with MockOrigin(tls=server_context(*certificate)) as origin:
        for http2 in (True, False, True, False):
            url = f"https://localhost:{origin.port}/v1/models"
            await body_of(await client.send(Request(method="GET", url=url, headers=[], http2=http2)))
        assert origin.record.connections == 2
        await client.aclose()


async def test_without_tls_it_is_http1(client: Connections, origin: MockOrigin):
    asked = Request(method="GET", url=f"{origin.url}/v1/models", headers=[], http2=True)
    assert (await client.send(asked)).status == 200
    assert await client.warm(origin.url, 2, http2=True) == 2


async def test_nothing_of_it_is_loaded_before_a_region_asks(client: Connections, origin: MockOrigin):
    await body_of(await client.send(Request(method="GET", url=f"{origin.url}/v1/models", headers=[])))
    assert client._http2 is None


async def test_a_cold_burst_waits_for_one_handshake(client: Connections, certificate: Certificate):
    async with scripted(certificate) as origin:
        assert set(await asyncio.gather(*(get(client, origin.url) for _ in range(50)))) == {b"hi"}
        assert origin.opened == 1


@pytest.mark.parametrize("limit", [1, 3])
async def test_above_the_origins_limit_another_connection_is_opened(
    client: Connections, certificate: Certificate, limit: int
):
    release = asyncio.Event()

    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        await release.wait()
        asked.answer()

    async with scripted(certificate, handle) as origin:
        origin.settings[SettingCodes.MAX_CONCURRENT_STREAMS] = limit
        await client.warm(origin.url, 1, http2=True)
        [first] = client._http2._pools["localhost", origin.port].connections  # type: ignore[union-attr]
        await origin.until(lambda: first.limit == limit)  # what it allows is remembered for the others
        tasks = [asyncio.create_task(get(client, origin.url)) for _ in range(6)]
        await origin.until(lambda: len(origin.asked) == 6)
        release.set()
        assert await asyncio.gather(*tasks) == [b"hi"] * 6
        assert max(len(peer.asked) for peer in origin.peers) <= limit
        assert origin.errors == []


async def test_an_origin_that_allows_no_request_is_a_failure_not_a_loop(client: Connections, certificate: Certificate):
    async with scripted(certificate) as origin:
        origin.settings[SettingCodes.MAX_CONCURRENT_STREAMS] = 0
        await client.warm(origin.url, 1, http2=True)
        await asyncio.sleep(0.05)
        with pytest.raises((ConnectFailed, ConnectionLost, Malformed)):
            await asyncio.wait_for(get(client, origin.url), 20)
        assert origin.opened <= 5


async def test_a_refused_stream_is_asked_again(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        if len(asked.peer.origin.asked) == 1:
            asked.end(ErrorCodes.REFUSED_STREAM)
        else:
            asked.answer(bytes(asked.body))

    async with scripted(certificate, handle) as origin:
        response = await client.send(request(origin.url, body=b"again"))
        assert await body_of(response) == b"again"
        assert len(origin.asked) == 2


async def test_an_origin_that_refuses_for_ever_is_a_failure(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        asked.end(ErrorCodes.REFUSED_STREAM)

    async with scripted(certificate, handle) as origin:
        with pytest.raises(ConnectionLost, match="refused"):
            await asyncio.wait_for(get(client, origin.url), 20)
        assert len(origin.asked) == 3


async def test_an_origin_that_wants_http1_after_all_is_asked_so(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        asked.end(ErrorCodes.HTTP_1_1_REQUIRED)

    async with scripted(certificate, handle, alpn=("h2", "http/1.1")) as origin:
        for _ in range(2):
            with pytest.raises((Malformed, ConnectionLost)):  # it speaks no HTTP/1.1 here
                await get(client, origin.url)
        assert origin.chosen == ["h2", "http/1.1", "http/1.1"]
        await origin.until(lambda: origin.peers[0].gone)


async def test_a_body_in_pieces_is_sent_once(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.end(ErrorCodes.REFUSED_STREAM)

    async def body() -> AsyncIterator[bytes]:
        yield b"once"

    async with scripted(certificate, handle) as origin:
        with pytest.raises(ConnectionLost, match="refused"):
            await client.send(request(origin.url, body=body()))
        assert len(origin.asked) == 1


@pytest.mark.parametrize("after_s", [0, 30], ids=["at once", "after half a minute"])
async def test_a_kept_connection_that_was_gone_costs_no_error_and_no_second_bill(
    certificate: Certificate, after_s: float
):
    clock = FakeClock()
    client = Connections(ca_file=str(certificate[0]), now=clock.monotonic)

    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        if asked.peer is asked.peer.origin.peers[0] and asked.number > 1:
            clock.advance(after_s)
            asked.peer.transport.abort()
        else:
            asked.answer()

    async with scripted(certificate, handle) as origin:
        origin.reads = False  # not a byte comes back
        assert await get(client, origin.url) == b"hi"
        await asyncio.sleep(0.05)  # what it has to say has come
        if after_s:
            with pytest.raises(ConnectionLost):
                await get(client, origin.url)
            assert (origin.opened, len(origin.asked)) == (1, 2)
        else:
            assert await get(client, origin.url) == b"hi"
            assert (origin.opened, len(origin.asked)) == (2, 3)
    await client.aclose()


async def test_a_fresh_connection_that_is_closed_is_an_error_not_a_loop(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        asked.peer.transport.abort()

    async with scripted(certificate, handle) as origin:
        with pytest.raises(ConnectionLost):
            await get(client, origin.url)
        assert (origin.opened, len(origin.asked)) == (1, 1)


@pytest.mark.parametrize(("wait_s", "opened"), [(44, 1), (46, 2)])
async def test_an_idle_connection_is_used_for_so_long(certificate: Certificate, wait_s: float, opened: int):
    clock = FakeClock()
    client = Connections(ca_file=str(certificate[0]), now=clock.monotonic)
    async with scripted(certificate) as origin:
        await get(client, origin.url)
        clock.advance(wait_s)
        await get(client, origin.url)
        assert origin.opened == opened
        clock.advance(46)
        client.tidy()
        await origin.until(lambda: origin.closed == opened)
        assert [gone.error_code for peer in origin.peers for gone in peer.gone] == [0] * opened  # it says good-bye
    await client.aclose()


async def test_an_old_connection_takes_nothing_new_and_ends_after_its_last_answer(certificate: Certificate):
    clock = FakeClock()
    client = Connections(ca_file=str(certificate[0]), now=clock.monotonic)
    release = asyncio.Event()

    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.head()
        if len(asked.peer.origin.asked) == 1:
            await release.wait()
        asked.data(b"hi", end=True)

    async with scripted(certificate, handle) as origin:
        long = await client.send(request(origin.url))
        clock.advance(301)
        assert await get(client, origin.url) == b"hi"
        assert (origin.opened, origin.closed) == (2, 0)
        release.set()
        assert await body_of(long) == b"hi"
        await origin.until(lambda: origin.closed == 1)
    await client.aclose()


async def test_a_changed_dns_answer_is_followed_when_connections_age(certificate: Certificate):
    clock = FakeClock()
    asked_for: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked_for.append(host)
        return ["127.0.0.1"]

    client = Connections(ca_file=str(certificate[0]), now=clock.monotonic, resolve=resolve)
    async with scripted(certificate) as origin:
        url = f"https://region.example:{origin.port}"
        for _ in range(12):
            await get(client, url)
            clock.advance(40)
        assert (origin.opened, asked_for) == (2, ["region.example"] * 2)
    await client.aclose()


async def test_one_warm_connection_suffices_and_is_replaced_before_it_is_too_old(certificate: Certificate):
    clock = FakeClock()
    client = Connections(ca_file=str(certificate[0]), now=clock.monotonic)
    async with scripted(certificate) as origin:
        assert await client.warm(origin.url, 4, http2=True) == 1
        assert await client.warm(origin.url, 4, http2=True) == 1
        await origin.until(lambda: origin.opened == 1)
        for _ in range(7):
            clock.advance(40)
            await get(client, origin.url)
        assert origin.opened == 1
        clock.advance(8)
        assert await client.warm(origin.url, 4, http2=True) == 2
        clock.advance(14)
        await get(client, origin.url)
        assert origin.opened == 2
        await origin.until(lambda: origin.closed == 1)
    await client.aclose()


async def test_warm_replaces_what_the_origin_dropped(client: Connections, certificate: Certificate):
    async with scripted(certificate) as origin:
        await client.warm(origin.url, 1, http2=True)
        await origin.until(lambda: origin.opened == 1)
        origin.peers[0].transport.abort()
        await origin.until(lambda: origin.closed == 1)
        await asyncio.sleep(0.05)
        await client.warm(origin.url, 1, http2=True)
        assert await get(client, origin.url) == b"hi"
        assert origin.opened == 2


async def test_giving_up_while_connecting_leaves_nothing_open(client: Connections):
    listener, port = silent()
    tasks = [asyncio.create_task(client.send(request(f"https://localhost:{port}"))) for _ in range(3)]
    await asyncio.sleep(0.1)
    for task in tasks:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes)
    listener.close()


async def test_one_who_gives_up_takes_the_connection_from_nobody(client: Connections, certificate: Certificate):
    async with scripted(certificate, hello) as origin:
        first = asyncio.create_task(get(client, origin.url))
        second = asyncio.create_task(get(client, origin.url))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == b"hi"
        assert origin.opened == 1


async def test_one_who_comes_as_the_last_gives_up_gets_a_connection_of_its_own(
    client: Connections, certificate: Certificate
):
    async with scripted(certificate, hello) as origin:
        first = asyncio.create_task(get(client, origin.url))
        await asyncio.sleep(0.001)
        first.cancel()
        second = asyncio.create_task(get(client, origin.url))
        assert await second == b"hi"
        assert (await asyncio.gather(first, return_exceptions=True))[0] != b"hi"


async def test_a_request_waits_for_the_connection_that_is_being_warmed(client: Connections, certificate: Certificate):
    async with scripted(certificate, hello) as origin:
        warming = asyncio.create_task(client.warm(origin.url, 1, http2=True))
        assert await get(client, origin.url) == b"hi"
        assert await warming == 1
        assert origin.opened == 1


async def test_no_connection_within_the_time_is_a_word_about_it(client: Connections):
    listener, port = silent()
    started = time.perf_counter()
    asked = [client.send(request(f"https://localhost:{port}", connect_timeout_s=0.2)) for _ in range(3)]
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert time.perf_counter() - started < 5
    assert all(isinstance(outcome, ConnectFailed) and "no connection to" in str(outcome) for outcome in outcomes)
    listener.close()


@pytest.mark.parametrize(("trusting", "host"), [(False, "localhost"), (True, "127.0.0.2")], ids=["chain", "name"])
async def test_tls_is_checked(certificate: Certificate, trusting: bool, host: str):
    client = Connections(ca_file=str(certificate[0]) if trusting else None)

    async def resolve(name: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    client._resolve = resolve
    async with scripted(certificate) as origin:
        with pytest.raises(ConnectFailed, match="TLS"):
            await get(client, f"https://{host}:{origin.port}")
    await client.aclose()
