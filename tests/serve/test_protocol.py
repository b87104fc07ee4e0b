"""Requests as they come over the wire, in any pieces and any order: answered once, in turn, and whole."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import edgeinf.serve.protocol as protocol
from edgeinf.core.config.schema import Listen
from edgeinf.mock import MockOrigin
from tests.serve.proxying import chat
from tests.serve.short import Way, one_way
from tests.serve.wire import Answer, post, wired

pytestmark = pytest.mark.asyncio(loop_scope="module")

KNOWN = post(chat("known"))
STREAM = post(chat("known", stream=True))
CLOSING = post(chat("known"), headers=[("connection", "close")])


@pytest_asyncio.fixture(loop_scope="module")
async def origin() -> AsyncIterator[MockOrigin]:
    async with MockOrigin() as own:
        yield own


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def way() -> AsyncIterator[Way]:
    """A proxy that has the answer to KNOWN in memory, rendered both ways."""
    async with MockOrigin() as own, one_way(own) as running:
        for request in (KNOWN, KNOWN, KNOWN, STREAM, STREAM, STREAM):
            await ask(running, request)
        yield running


async def ask(way: Way, *pieces: bytes, pause_s: float = 0.0) -> Answer:
    async with wired(way.url) as wire:
        await wire.send(*pieces, pause_s=pause_s)
        return await wire.answer()


def text(answer: Answer) -> str:
    return str(answer.json["choices"][0]["message"]["content"])


async def test_a_hit_goes_the_short_way_and_a_stream_of_it_in_one_chunk(way: Way) -> None:
    before = way.short
    whole, stream = await ask(way, KNOWN), await ask(way, STREAM)
    assert way.short == before + 2
    assert (whole.chunks, whole.header("content-length")) == (None, str(len(whole.body)))
    assert stream.chunks == [len(stream.body)]
    assert stream.header("content-type").startswith("text/event-stream")
    assert stream.header("content-length") == ""
    assert stream.body.endswith(b"data: [DONE]\n\n")


@given(cuts=st.lists(st.integers(1, len(KNOWN) - 1), max_size=4, unique=True))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_a_request_in_any_pieces_is_one_request(way: Way, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(KNOWN)]
    pieces = [KNOWN[a:b] for a, b in itertools.pairwise(edges)]
    before = way.short
    answer = await ask(way, *pieces, pause_s=0.001)
    assert (answer.status, answer.header("x-edgeinf-cache"), way.short) == (200, "hit", before + 1)


async def test_many_requests_in_one_packet_are_answered_in_turn(way: Way) -> None:
    """Hits and misses mixed: a hit must not overtake the miss before it."""
    bodies = ["known" if number % 3 else f"never asked {number}" for number in range(12)]
    before = len(way.events)
    async with wired(way.url) as wire:
        await wire.send(b"".join(post(chat(body, echo=number)) for number, body in enumerate(bodies)))
        first = [await wire.answer() for _ in bodies]
        await wire.send(b"".join(post(chat(body, echo=number)) for number, body in enumerate(bodies)))
        again = [await wire.answer() for _ in bodies]
    assert [text(a) for a in again] == [text(a) for a in first]
    assert len({text(a) for a in first}) == len(bodies)
    assert {a.header("x-edgeinf-cache") for a in again} == {"hit"}
    assert len(way.events) == before + 24


async def test_a_hit_does_not_overtake_an_answer_that_is_under_way(way: Way) -> None:
    slow = post(chat("slow", stream=True, echo=1))
    async with wired(way.url) as wire:
        await wire.send(slow + KNOWN)
        first, second = await wire.answer(), await wire.answer()
    assert first.header("x-edgeinf-cache") == "miss"
    assert first.body.endswith(b"data: [DONE]\n\n")
    assert second.header("x-edgeinf-cache") == "hit"


async def test_a_hit_does_not_cut_the_long_answer_that_is_asked_with_it(
    origin: MockOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that is idle is closed after a while; one whose next answer is still coming is not idle."""
    import uvicorn

    real = uvicorn.Config
    monkeypatch.setattr(uvicorn, "Config", lambda *a, **k: real(*a, **{**k, "timeout_keep_alive": 0.3}))
    async with one_way(origin) as way:
        for _ in range(3):
            await ask(way, KNOWN)
        origin.use({"ttft": "900ms"})
        async with wired(way.url) as wire:
            await wire.send(KNOWN + post(chat("slow")))
            assert [(await wire.answer()).status for _ in range(2)] == [200, 200]
        async with wired(way.url) as wire:
            late = post(chat("known"))
            await wire.send(KNOWN + late[:-10])
            assert (await wire.answer()).header("x-edgeinf-cache") == "hit"
            await asyncio.sleep(0.6)  # longer than a connection may idle: but a request has begun
            await wire.send(late[-10:])
            assert (await wire.answer()).header("x-edgeinf-cache") == "hit"


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(post(chat("known"), version="1.0"), id="HTTP/1.0"),
        pytest.param(CLOSING, id="close"),
    ],
)
async def test_a_connection_that_the_client_wants_closed_is_closed(way: Way, request_: bytes) -> None:
    async with wired(way.url) as wire:
        await wire.send(request_)
        answer = await wire.answer()
        assert (answer.status, answer.header("x-edgeinf-cache")) == (200, "hit")
        assert await wire.ended() == b""


async def test_a_kept_connection_serves_any_number(way: Way) -> None:
    async with wired(way.url) as wire:
        for request in (KNOWN, STREAM, KNOWN, post(chat("new to it")), STREAM, post(chat("new to it")), KNOWN):
            await wire.send(request)
            answer = await wire.answer()
            assert answer.status == 200
            assert answer.header("connection") == ""


@pytest.mark.parametrize("pieces", [1, 3, 40])
async def test_a_body_in_chunks_is_understood(way: Way, pieces: int) -> None:
    body = json.dumps(chat("known")).encode()
    size = -(-len(body) // pieces)
    chunks = [body[i : i + size] for i in range(0, len(body), size)]
    coded = b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in chunks) + b"0\r\n\r\n"
    answer = await ask(way, post(b"", headers=[("transfer-encoding", "chunked")], length=False), coded)
    assert (answer.status, answer.header("x-edgeinf-cache")) == (200, "hit")


async def test_a_client_that_waits_for_permission_gets_it(way: Way) -> None:
    request = post(chat("known"), headers=[("expect", "100-continue")])
    head, _, body = request.partition(b"\r\n\r\n")
    async with wired(way.url) as wire:
        await wire.send(head + b"\r\n\r\n")
        async with asyncio.timeout(20):
            assert (await wire.reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 100 ")
        await wire.send(body)
        assert (await wire.answer()).header("x-edgeinf-cache") == "hit"


@pytest.mark.parametrize(
    "headers",
    [
        [("content-length", "5"), ("transfer-encoding", "chunked")],
        [("transfer-encoding", "chunked"), ("content-length", "5")],
        [("content-length", "5"), ("content-length", "7")],
        [("content-length", "-5")],
        [("content-length", "+5")],
        [("content-length", "5, 5")],
        [("content-length", "five")],
        [("content-length", "9" * 40)],
        [("transfer-encoding", "gzip, chunked, identity")],
    ],
    ids=str,
)
async def test_a_length_that_can_be_read_two_ways_is_refused(way: Way, headers: list[tuple[str, str]]) -> None:
    """What two servers read differently carries one client's request into another's."""
    before = len(way.events)
    async with wired(way.url) as wire:
        await wire.send(post(b"0\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n", headers=headers, length=False))
        answer = await wire.answer()
        assert answer.status in (400, 413)
        assert b"200" not in (await wire.ended())[:15]
    assert len(way.events) == before


async def test_a_body_that_dawdles_is_answered_all_the_same(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_DAWDLE_S", 0.05)
    before = way.short
    for split in (len(KNOWN) - 40, len(KNOWN) - 1, KNOWN.index(b"\r\n\r\n") + 4):
        answer = await ask(way, KNOWN[:split], KNOWN[split:], pause_s=0.3)
        assert (answer.status, answer.header("x-edgeinf-cache")) == (200, "hit")
    assert way.short == before
    async with wired(way.url) as wire:  # and the connection is as good as before
        await wire.send(KNOWN[:-5], KNOWN[-5:] + KNOWN, pause_s=0.3)
        assert [(await wire.answer()).header("x-edgeinf-cache") for _ in range(2)] == ["hit", "hit"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff", b"null", b'{"model": 1}'], ids=repr)
async def test_what_is_no_request_is_refused_and_the_connection_stays(way: Way, body: bytes) -> None:
    async with wired(way.url) as wire:
        for request in (post(body), KNOWN, post(body)):
            await wire.send(request)
        assert [(await wire.answer()).status for _ in range(3)] == [400, 200, 400]


async def test_a_client_that_leaves_within_its_body_leaves_nothing_behind(way: Way) -> None:
    before = len(way.events)
    for cut in (-1, -30, KNOWN.index(b"\r\n\r\n") + 4):
        async with wired(way.url) as wire:
            await wire.send(KNOWN[:cut])
    assert (await ask(way, KNOWN)).status == 200
    assert len(way.events) == before + 1


@pytest.mark.parametrize("size", [200_000, 300_000], ids=["gathered", "too-large-to-gather"])
async def test_a_large_body_is_answered_in_any_case(way: Way, size: int) -> None:
    request = post(chat("x" * size))
    answers = [await ask(way, *(request[i : i + 50_000] for i in range(0, len(request), 50_000))) for _ in range(3)]
    assert [a.header("x-edgeinf-cache") for a in answers] == ["miss", "hit", "hit"]


async def test_who_asks_without_reading_is_not_kept_in_memory(origin: MockOrigin) -> None:
    """Answers wait in the server only as far as the connection's own buffer goes."""
    origin.use({"answer": {"text": "x" * 400_000}})
    async with one_way(origin) as way:
        for _ in range(3):
            await ask(way, KNOWN)
        seen: list[int] = []
        async with wired(way.url) as wire:
            wire.writer.write(KNOWN * 300)  # 120 MB of answers
            for _ in range(20):
                await asyncio.sleep(0.05)
                seen.append(sum(c.transport.get_write_buffer_size() for c in _connections(way)))
            assert max(seen) < 4 * 2**20
            assert len(way.events) < 300
            answers = [await wire.answer() for _ in range(300)]
        assert {(a.status, len(text(a))) for a in answers} == {(200, 400_000)}


def _connections(way: Way) -> list[protocol._Gathering]:
    import gc

    return [
        found
        for found in gc.get_objects()
        if isinstance(found, protocol._Gathering)
        and getattr(found, "shortcut", None) is not None
        and found.shortcut._runtime is way.runtime
        and found.transport is not None
    ]


@pytest.mark.parametrize("known", [True, False], ids=["hit", "miss"])
@pytest.mark.parametrize("keep", [True, False], ids=["kept-connection", "fresh-connection"])
async def test_a_drain_with_half_a_body_under_way_drops_nothing(origin: MockOrigin, known: bool, keep: bool) -> None:
    request = KNOWN if known else post(chat("unheard of"))
    async with one_way(origin, listen=Listen(drain=8.0)) as way:
        for _ in range(3):
            await ask(way, KNOWN)
        async with wired(way.url) as wire, wired(way.url) as idle:
            if keep:
                await wire.send(KNOWN)
                await wire.answer()
            await idle.send(KNOWN)
            await idle.answer()
            await wire.send(request[:-20])
            await asyncio.sleep(0.1)
            way.stop()
            assert await idle.ended() == b""  # whoever does nothing is closed, the body half sent is waited for
            await wire.send(request[-20:])
            answer = await wire.answer()
            assert (answer.status, answer.header("x-edgeinf-cache")) == (200, "hit" if known else "miss")
            assert answer.header("connection") == "close"
            assert await wire.ended() == b""
