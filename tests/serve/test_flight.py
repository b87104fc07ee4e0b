"""Everyone who follows an answer gets all of it, and what nobody reads does not pile up."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.core.config.schema import Cache
from edgeinf.core.errors import CallError
from edgeinf.mock import MockOrigin
from edgeinf.serve.flight import RECORD_LIMIT, WINDOW, Flight, Flights, Reader
from tests.serve.proxying import chat, proxying, region
from tests.serve.wire import post, wired


@given(
    steps=st.lists(st.one_of(st.binary(min_size=1, max_size=9), st.integers(0, 3)), max_size=40),
    recording=st.booleans(),
)
@settings(deadline=None)
async def test_whoever_joins_whenever_reads_the_whole(steps: list[bytes | int], recording: bool) -> None:
    """A number lets that reader read, and joins it first if it has not joined; while nothing was let go."""
    flight = Flight()
    flight.recording = recording
    first = flight.join()
    readers: dict[int, tuple[Reader, list[bytes]]] = {}
    added = b""
    for step in steps:
        if isinstance(step, bytes):
            flight.add(step)
            added += step
            continue
        if step not in readers:
            assert flight.first_piece == 0  # the first reader has read nothing, so all is still there
            readers[step] = flight.join(), []
        reader, got = readers[step]
        piece = reader.take()
        if piece is not None:
            got.append(piece)
    flight.finish()
    for reader, got in [*readers.values(), (first, [])]:
        assert b"".join([*got, reader.take() or b""]) == added
        assert reader.take() is None
        assert reader.seen_bytes == flight.sent_bytes == len(added)


@pytest.mark.parametrize("recording", [True, False], ids=["recorded", "passed-on"])
async def test_what_every_reader_has_seen_is_let_go_unless_it_is_recorded(recording: bool) -> None:
    flight = Flight()
    fast, slow = flight.join(), flight.join()
    flight.recording = recording
    for number in range(10):
        flight.add(b"%d" % number)
        assert fast.take() == b"%d" % number
    assert len(flight.pieces) == 10
    assert slow.take() == b"0123456789"
    assert len(flight.pieces) == (10 if recording else 0)
    flight.add(b"x")
    assert (fast.take(), slow.take()) == (b"x", b"x")


async def test_who_leaves_holds_nothing_back() -> None:
    flight = Flight()
    flight.recording = False
    stays, leaves = flight.join(), flight.join()
    flight.add(b"x" * (WINDOW + 1))
    assert stays.take() is not None
    filling = asyncio.ensure_future(flight.room())
    await asyncio.sleep(0)
    assert not filling.done()
    flight.part(leaves)
    async with asyncio.timeout(10):
        await filling
    assert flight.pieces == []


@pytest.mark.parametrize("recording", [True, False], ids=["recorded", "passed-on"])
async def test_the_origin_is_read_at_most_a_window_ahead(recording: bool) -> None:
    """While it is recorded the fastest reader sets the pace, since it is kept anyway; then the slowest."""
    flight = Flight()
    flight.recording = recording
    fast, slow = flight.join(), flight.join()

    async def fill() -> None:
        for _ in range(40):
            flight.add(b"x" * (WINDOW // 8))
            await flight.room()

    filling = asyncio.ensure_future(fill())
    most = 0
    for _ in range(400):
        await asyncio.sleep(0)
        most = max(most, flight.sent_bytes - (fast.seen_bytes if recording else slow.seen_bytes))
        fast.take()
        if filling.done():
            break
    assert most <= WINDOW + WINDOW // 8
    assert filling.done() == recording
    if not recording:
        assert flight.sent_bytes <= WINDOW + WINDOW // 8
        while not filling.done():
            slow.take()
            fast.take()
            await asyncio.sleep(0)
        slow.take()
    await filling
    assert (slow.take() is not None) == recording
    assert slow.seen_bytes == fast.seen_bytes + len(fast.take() or b"")


async def test_who_joins_too_late_is_told_so_and_is_not_given_the_rest_for_the_whole() -> None:
    flights, flight = Flights(), Flight()
    flights[b"find"] = flight
    flight.recording = False
    first = flight.join()
    flight.add(b"one")
    assert flights.get(b"find") is flight
    assert first.take() == b"one"
    flight.add(b"two")
    assert flights.get(b"find") is None
    with pytest.raises(CallError, match="no longer there"):
        flight.join().take()
    newer = flights[b"find"] = Flight()
    flight.unfollowable = lambda: flights._leave(b"find", flight)
    first.take()
    assert flights.get(b"find") is newer


async def test_an_answer_that_nobody_reads_and_nobody_keeps_is_given_up() -> None:
    flight = Flight()

    async def fill() -> None:
        while True:
            flight.add(b"x")
            await flight.room()
            await asyncio.sleep(0)

    flight.task = asyncio.create_task(fill())
    reader = flight.join()
    await asyncio.sleep(0)
    flight.recording = False
    flight.part(reader)
    with pytest.raises(asyncio.CancelledError):
        async with asyncio.timeout(10):
            await flight.task


async def test_a_reader_is_woken_by_whatever_happens() -> None:
    happenings: list[Callable[[Flight, Reader], None]] = [
        lambda f, r: f.commit(200, [], stream=True, content_type="x"),
        lambda f, r: f.add(b"x"),
        lambda f, r: f.finish(),
        lambda f, r: f.fail(CallError("no", status=502, code="origin_bad")),
        lambda f, r: r.leave(),
    ]
    for happen in happenings:
        flight = Flight()
        reader = flight.join()
        waiting = asyncio.ensure_future(reader.changed(20))
        await asyncio.sleep(0)
        happen(flight, reader)
        assert await waiting
    assert reader.gone
    assert not await flight.join().changed(0.01)


async def test_a_client_that_does_not_read_bounds_what_is_fetched(origin: MockOrigin) -> None:
    """30 MB of an answer that is not kept: what waits in the server is a window and two sockets' buffers."""
    origin.use({"answer": {"pieces": ["y" * 30_000] * 1000}})
    async with proxying(region(origin, "only", passthrough=True), cache=Cache(disk=None)) as proxy:
        async with wired(proxy.url) as wire:
            await wire.send(post(chat("large", stream=True), headers=[("cache-control", "no-store")]))
            await asyncio.sleep(0.5)
            (flight,) = _flights()
            sent = -1
            while sent != flight.sent_bytes:  # until the origin is held back
                sent = flight.sent_bytes
                await asyncio.sleep(0.3)
            assert sent < RECORD_LIMIT + 2 * WINDOW
            assert sum(map(len, flight.pieces)) < RECORD_LIMIT + 2 * WINDOW
            answer = await wire.answer()
        assert answer.body.count(b"y" * 30_000) == 1000
        assert answer.body.endswith(b"data: [DONE]\n\n")
        assert sum(map(len, flight.pieces)) < RECORD_LIMIT


def _flights() -> list[Flight]:
    return [found for found in gc.get_objects() if isinstance(found, Flight) and not found.done]


@pytest.mark.parametrize(("stream", "read"), [(True, 9 * 2**20), (False, 2**20)], ids=["stream", "whole"])
async def test_who_comes_after_the_start_was_let_go_gets_an_answer_of_its_own(
    origin: MockOrigin, stream: bool, read: int
) -> None:
    """An answer too large to keep lets go of what its readers have seen; nobody can follow it from the start then."""
    origin.use({"answer": {"pieces": ["z" * 100_000] * 140}})
    asked = chat("larger than what is kept", stream=stream)
    async with (
        proxying(region(origin, "only", passthrough=True), cache=Cache(disk=None)) as proxy,
        wired(proxy.url) as first,
        wired(proxy.url) as second,
        asyncio.timeout(60),
    ):
        await first.send(post(asked, headers=[("connection", "close")]))
        begun = await first.reader.readexactly(read)  # and then it pauses, so that the answer is under way
        assert [flight.first_piece > 0 for flight in _flights()] == [True]
        await second.send(post(asked))
        answer = await second.answer()
        rest = await first.ended()
    assert answer.body.count(b"z") == (begun + rest).count(b"z") == 14_000_000
    assert len(origin.calls) == 2
