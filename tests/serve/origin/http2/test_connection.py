"""One connection and a peer that does right and wrong: what each request hears of it."""

from __future__ import annotations

import asyncio
import random
import socket
import time
from pathlib import Path

import pytest
from h2.errors import ErrorCodes
from hyperframe.frame import DataFrame, HeadersFrame, PingFrame, PushPromiseFrame, SettingsFrame

from edgeinf.core.clock import FakeClock
from edgeinf.serve.origin.client import ConnectionLost, Malformed, OriginFailure
from edgeinf.serve.origin.pool import Connections
from tests.serve.origin.http2.scripted import Asked, request, scripted
from tests.serve.origin.raw import body_of

Certificate = tuple[Path, Path]


async def test_requests_at_once_share_one_connection(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        await asked.peer.origin.until(lambda: len(asked.peer.asked) == 20)  # none is answered before all are there
        asked.answer(b"%d" % asked.number)

    async with scripted(certificate, handle) as origin:
        answers = await asyncio.gather(*(client.send(request(origin.url)) for _ in range(20)))
        assert sorted([int(await body_of(answer)) for answer in answers]) == list(range(1, 41, 2))
        assert (origin.opened, origin.chosen) == (1, ["h2"])


@pytest.mark.parametrize(
    ("fields", "status", "body"),
    [
        ([(b"content-length", b"2")], b"200", b"hi"),
        ([], b"200", b"hi"),
        ([(b"content-length", b"0")], b"404", b""),
        ([], b"204", None),
        ([(b"content-length", b"99")], b"304", None),
    ],
    ids=["length", "no length", "empty", "204", "304 says the length of another"],
)
async def test_answers_end_where_they_end(
    client: Connections, certificate: Certificate, fields: list[tuple[bytes, bytes]], status: bytes, body: bytes | None
):
    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.head(*fields, status=status, end=body is None)
        if body is not None:
            asked.data(body, end=True)

    async with scripted(certificate, handle) as origin:
        for _ in range(2):
            response = await client.send(request(origin.url))
            assert response.status == int(status)
            assert await body_of(response) == (body or b"")
        assert origin.opened == 1


async def test_interim_answers_are_passed_over_and_trailers_dropped(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        asked.head((b"link", b"</a>"), status=b"103")
        asked.head(status=b"102")
        asked.head((b"x-b", b"2"))
        asked.data(b"hi")
        asked.peer.h2.send_headers(asked.number, [(b"x-trailer", b"t")], end_stream=True)
        asked.peer.flush()

    async with scripted(certificate, handle) as origin:
        response = await client.send(request(origin.url))
        assert response.headers == [(b"x-b", b"2"), (b"transfer-encoding", b"chunked")]  # its end is marked
        assert (response.status, await body_of(response)) == (200, b"hi")


async def test_a_head_request_has_no_body_to_wait_for(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        asked.head((b"content-length", b"999"), end=True)

    async with scripted(certificate, handle) as origin:
        response = await client.send(request(origin.url, "HEAD", body=b""))
        assert (response.status, await body_of(response)) == (200, b"")


async def test_a_body_that_was_announced_and_never_came_is_no_answer(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        asked.head((b"content-length", b"99"), end=True)

    async with scripted(certificate, handle) as origin:
        with pytest.raises(Malformed, match="shorter"):
            await body_of(await client.send(request(origin.url)))


@pytest.mark.parametrize("sizes", [(1,), (3,)], ids=["short", "long"])
async def test_a_length_that_is_wrong_is_no_answer(client: Connections, certificate: Certificate, sizes: tuple[int]):
    async def handle(asked: Asked) -> None:
        asked.head((b"content-length", b"2"))
        asked.data(b"x" * sizes[0], end=True)

    async with scripted(certificate, handle) as origin:
        with pytest.raises(OriginFailure):
            await body_of(await client.send(request(origin.url)))


@pytest.mark.parametrize("code", [ErrorCodes.NO_ERROR, ErrorCodes.INTERNAL_ERROR, 0xFFFF])
async def test_an_origin_that_ends_a_stream_ends_that_one_only(
    client: Connections, certificate: Certificate, code: int
):
    release = asyncio.Event()

    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.head()
        asked.data(b"one ")
        if asked.number == 1:
            asked.end(code)
        else:
            await release.wait()
            asked.data(b"two", end=True)

    async with scripted(certificate, handle) as origin:
        first, second = await asyncio.gather(*(client.send(request(origin.url)) for _ in range(2)))
        broken, whole = (first, second) if first.number == 1 else (second, first)  # type: ignore[attr-defined]
        with pytest.raises(ConnectionLost, match="ended the stream"):
            await body_of(broken)
        release.set()
        assert await body_of(whole) == b"one two"
        assert origin.opened == 1


async def test_a_reader_that_leaves_ends_its_stream_at_once_and_no_other(client: Connections, certificate: Certificate):
    release = asyncio.Event()

    async def handle(asked: Asked) -> None:
        asked.head()
        asked.data(b"one ")
        await release.wait()
        if asked.reset is None:
            asked.data(b"two", end=True)

    async with scripted(certificate, handle) as origin:
        leaving, staying = await asyncio.gather(*(client.send(request(origin.url)) for _ in range(2)))
        assert await leaving.read() == b"one "
        started = time.perf_counter()
        leaving.close()
        leaving.close()
        await origin.until(lambda: [asked.reset for asked in origin.asked].count(ErrorCodes.CANCEL) == 1)
        assert time.perf_counter() - started < 1.0
        assert await leaving.read() is None
        release.set()
        assert await body_of(staying) == b"one two"
        assert (origin.opened, origin.closed) == (1, 0)


async def test_giving_up_before_the_head_ends_the_stream_at_once(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        await asyncio.sleep(60)

    async with scripted(certificate, handle) as origin:
        task = asyncio.create_task(client.send(request(origin.url)))
        await origin.until(lambda: origin.asked)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await origin.until(lambda: origin.asked[0].reset == ErrorCodes.CANCEL, within_s=1.0)
        assert origin.closed == 0


async def test_a_lost_connection_is_lost_for_every_stream(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.head()
        asked.data(b"one ")
        if len(asked.peer.asked) == 3:
            await asyncio.sleep(0.05)
            asked.peer.transport.abort()

    async with scripted(certificate, handle) as origin:
        answers = await asyncio.gather(*(client.send(request(origin.url)) for _ in range(3)))
        outcomes = await asyncio.gather(*(body_of(answer) for answer in answers), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [ConnectionLost] * 3


async def test_a_reader_that_is_slow_holds_its_own_stream_back_and_no_other(
    client: Connections, certificate: Certificate
):
    size = 3 * 2**20

    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.head()
        if asked.body == b"slow":
            await asked.pour(b"x" * size)
        else:
            asked.data(b"quick", end=True)

    async with scripted(certificate, handle) as origin:
        slow = await client.send(request(origin.url, body=b"slow"))
        peer = origin.peers[0]
        await origin.until(lambda: peer.poured >= 256 * 1024)
        for _ in range(100):  # far more than the connection's window, were it not given back on arrival
            assert await body_of(await client.send(request(origin.url, body=b"quick"))) == b"quick"
        assert peer.poured == 256 * 1024
        assert len(await body_of(slow)) == size
        assert origin.opened == 1


async def test_many_slow_readers_do_not_starve_a_quick_one(client: Connections, certificate: Certificate):
    size = 300 * 1024

    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.head()
        await asked.pour(b"x" * size)

    async with scripted(certificate, handle) as origin:
        slow = [await client.send(request(origin.url)) for _ in range(80)]  # 20 MiB would lie there
        quick = await client.send(request(origin.url))
        assert len(await body_of(quick)) == size
        assert origin.peers[0].poured <= 81 * 256 * 1024 + size
        for response in slow:
            response.close()
        await origin.until(lambda: all(asked.reset is not None for asked in origin.asked[:80]))


async def test_padding_is_given_back_though_no_reader_takes_it(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.head()
        for _ in range(3000):  # 3000 * 256 bytes of padding, three times the window
            while asked.peer.h2.local_flow_control_window(asked.number) < 300:
                asked.peer.moved.clear()
                await asked.peer.moved.wait()
            asked.data(b"", pad=255)
        asked.data(b"end", end=True)

    async with scripted(certificate, handle) as origin:
        assert await asyncio.wait_for(body_of(await client.send(request(origin.url))), 60) == b"end"


def frame(kind: type[DataFrame | HeadersFrame], **more: object) -> bytes:
    return kind(stream_id=1, **more).serialize()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n",
        b"\x00" * 8 + b"\x01" + b"\xff" * 200,
        SettingsFrame(0).serialize() + DataFrame(1, b"before the head").serialize(),
        SettingsFrame(0).serialize() + HeadersFrame(1, b"\xff\xff\xff\xff\xff", flags=["END_HEADERS"]).serialize(),
        SettingsFrame(0).serialize() + DataFrame(7, b"nobody asked").serialize(),
        SettingsFrame(0, settings={4: 2**31}).serialize(),
        SettingsFrame(0).serialize()
        + PushPromiseFrame(1, promised_stream_id=2, data=b"\x82", flags=["END_HEADERS"]).serialize(),
    ],
    ids=["HTTP/1.1", "noise", "data first", "bad compression", "an unknown stream", "a bad setting", "a push"],
)
async def test_what_is_not_http2_is_refused_and_the_socket_closed(
    client: Connections, certificate: Certificate, said: bytes
):
    async with scripted(certificate) as origin:
        origin.raw = said
        with pytest.raises(OriginFailure):
            await asyncio.wait_for(body_of(await client.send(request(origin.url))), 10)
        await origin.until(lambda: origin.closed == origin.opened)


@pytest.mark.parametrize("seed", range(30))
async def test_noise_inside_an_answer_is_a_failure_and_nothing_else(
    client: Connections, certificate: Certificate, seed: int
):
    rng = random.Random(seed)

    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.head((b"content-type", b"text/plain"))
        good = DataFrame(asked.number, b"abc").serialize() + PingFrame(0, b"12345678").serialize()
        noise = bytearray(good * 3)
        for _ in range(rng.randint(1, 6)):
            noise[rng.randrange(len(noise))] = rng.randrange(256)
        asked.peer.transport.write(bytes(noise))
        await asyncio.sleep(0.02)
        asked.peer.transport.abort()

    async with scripted(certificate, handle) as origin:
        try:
            await asyncio.wait_for(body_of(await client.send(request(origin.url))), 10)
        except OriginFailure:
            pass
        await origin.until(lambda: origin.closed == origin.opened)


@pytest.mark.parametrize(
    "fields",
    [
        [(b"x-%d" % n, b"y" * 1000) for n in range(70)],
        [(b"connection", b"keep-alive")],
        [(b"X-Upper", b"1")],
        [(b":status", b"200")],
        [(b"content-length", b"2"), (b"content-length", b"3")],
        [(b"x-a", b"1\r\nx-evil: 1")],
        [(b"x-a\nx-evil", b"1")],
    ],
    ids=[
        "64 KiB of head",
        "a hop-by-hop field",
        "upper case",
        "two statuses",
        "two lengths",
        "a line end in a value",
        "a line end in a name",
    ],
)
async def test_a_head_that_must_not_be_is_refused(
    client: Connections, certificate: Certificate, fields: list[tuple[bytes, bytes]]
):
    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.peer.h2.config.normalize_outbound_headers = False
        asked.head(*fields)
        asked.data(b"hi", end=True)

    async with scripted(certificate, handle) as origin:
        with pytest.raises(Malformed):
            await asyncio.wait_for(body_of(await client.send(request(origin.url))), 10)


@pytest.mark.parametrize("status", [b"abc", b"20", b"2000", b""])
async def test_a_status_that_is_none_is_refused(client: Connections, certificate: Certificate, status: bytes):
    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.head(status=status)

    async with scripted(certificate, handle) as origin:
        with pytest.raises(Malformed):
            await asyncio.wait_for(client.send(request(origin.url)), 10)


async def test_going_away_spares_what_the_origin_works_on_and_asks_the_rest_again(
    client: Connections, certificate: Certificate
):
    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        peer = asked.peer
        if peer is peer.origin.peers[0]:
            await peer.origin.until(lambda: len(peer.asked) == 2)
            if asked.number == 1:
                peer.go_away(1)
                await peer.origin.until(lambda: peer.origin.opened == 2)
                asked.answer(b"spared")
            return
        asked.answer(b"again")

    async with scripted(certificate, handle) as origin:
        answers = await asyncio.gather(*(client.send(request(origin.url)) for _ in range(2)))
        assert sorted([await body_of(answer) for answer in answers]) == [b"again", b"spared"]
        await origin.until(lambda: origin.closed == 1)  # it ended after its last answer
        assert await body_of(await client.send(request(origin.url))) == b"again"
        assert origin.opened == 2


async def test_going_away_while_nothing_is_asked_costs_no_error(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        asked.answer()
        asked.peer.go_away(asked.number)

    async with scripted(certificate, handle) as origin:
        for _ in range(3):
            assert await body_of(await client.send(request(origin.url))) == b"hi"
            await origin.until(lambda: origin.closed == origin.opened)
        assert origin.opened == 3


async def test_an_origin_that_is_silent_while_it_owes_an_answer_is_asked_whether_it_is_there(certificate: Certificate):
    clock = FakeClock()
    client = Connections(ca_file=str(certificate[0]), now=clock.monotonic)

    async def handle(asked: Asked) -> None:
        asked.head()

    async with scripted(certificate, handle) as origin:
        response = await client.send(request(origin.url))
        clock.advance(31)
        client.tidy()
        await origin.until(lambda: origin.peers[0].h2.highest_inbound_stream_id == 1)
        await asyncio.sleep(0.05)  # its reply arrives
        clock.advance(21)
        client.tidy()  # it did react
        waiting = asyncio.create_task(response.read())
        clock.advance(31)
        origin.peers[0].transport.pause_reading()
        client.tidy()
        clock.advance(21)
        client.tidy()
        with pytest.raises(ConnectionLost, match="react"):
            await waiting
        origin.peers[0].transport.resume_reading()
    await client.aclose()


async def test_a_connection_of_which_nobody_hears_takes_nothing_new(certificate: Certificate):
    clock = FakeClock()
    client = Connections(ca_file=str(certificate[0]), now=clock.monotonic)

    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        if asked.peer is asked.peer.origin.peers[0] and asked.number > 1:
            asked.peer.transport.pause_reading()  # as if the network had lost the connection
        else:
            asked.answer()

    async with scripted(certificate, handle) as origin:
        origin.reads = False
        assert await body_of(await client.send(request(origin.url))) == b"hi"
        await asyncio.sleep(0.05)  # all that it says has come
        silent = asyncio.create_task(client.send(request(origin.url)))
        await origin.until(lambda: len(origin.asked) == 2)
        clock.advance(5)
        silent.cancel()
        await asyncio.gather(silent, return_exceptions=True)
        assert await body_of(await client.send(request(origin.url))) == b"hi"
        assert origin.opened == 2
        clock.advance(21)
        client.tidy()
        origin.peers[0].transport.resume_reading()
        await origin.until(lambda: origin.closed == 1)
    await client.aclose()


async def test_a_connection_that_was_only_slow_is_used_again(certificate: Certificate):
    clock = FakeClock()
    client = Connections(ca_file=str(certificate[0]), now=clock.monotonic)

    async def handle(asked: Asked) -> None:
        await asked.whole.wait()
        if asked.number != 3:
            asked.answer()

    async with scripted(certificate, handle) as origin:
        origin.reads = False
        assert await body_of(await client.send(request(origin.url))) == b"hi"
        await asyncio.sleep(0.05)
        slow = asyncio.create_task(client.send(request(origin.url)))
        await origin.until(lambda: len(origin.asked) == 2)
        clock.advance(5)
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)
        await asyncio.sleep(0.1)  # it says that it is there
        assert await body_of(await client.send(request(origin.url))) == b"hi"
        assert origin.opened == 1
    await client.aclose()


async def test_an_origin_that_asks_for_replies_and_reads_none_is_left(client: Connections, certificate: Certificate):
    async def handle(asked: Asked) -> None:
        transport = asked.peer.transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        transport.pause_reading()
        pings = PingFrame(0, b"12345678").serialize() * 500
        while not transport.is_closing():
            if transport.get_write_buffer_size() < 65536:
                transport.write(pings)
            await asyncio.sleep(0)

    async with scripted(certificate, handle) as origin:
        await client.warm(origin.url, 1, http2=True)
        ours = client._http2._pools["localhost", origin.port].connections[0].transport  # type: ignore[union-attr]
        ours.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        with pytest.raises(Malformed, match="reads none"):
            await asyncio.wait_for(client.send(request(origin.url)), 60)
