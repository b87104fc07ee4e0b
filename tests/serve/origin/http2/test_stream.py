"""One stream by itself: read, waited for, failed, left."""

from __future__ import annotations

import asyncio

import pytest

from edgeinf.serve.origin.client import ConnectionLost
from edgeinf.serve.origin.http2.stream import Stream


class Noting:
    """A connection that notes what its stream says."""

    def __init__(self) -> None:
        self.read = 0
        self.left = 0

    def taken(self, stream: Stream, size: int) -> None:
        self.read += size

    def leave(self, stream: Stream) -> None:
        self.left += 1


def made() -> tuple[Stream, Noting]:
    carrier = Noting()
    return Stream(carrier, 1, asyncio.get_running_loop().create_future()), carrier


async def test_what_has_arrived_is_read_at_once_and_told():
    stream, carrier = made()
    stream.add(b"a")
    stream.add(b"")
    stream.add(b"bc")
    assert await stream.read() == b"abc"
    assert carrier.read == 3
    stream.add(b"d")
    stream.finish()
    assert [await stream.read() for _ in range(3)] == [b"d", None, None]
    assert carrier.left == 1


async def test_a_reader_waits_for_the_next_piece():
    stream, _ = made()
    reading = asyncio.create_task(stream.read())
    await asyncio.sleep(0)
    stream.add(b"x")
    assert await reading == b"x"


async def test_what_came_before_a_failure_is_read_first():
    stream, carrier = made()
    stream.begin(200, [])
    stream.add(b"x")
    stream.fail(ConnectionLost("gone"))
    stream.fail(ConnectionLost("again"))
    assert await stream.read() == b"x"
    with pytest.raises(ConnectionLost, match="gone"):
        await stream.read()
    assert carrier.left == 1


async def test_a_failure_after_the_end_is_of_no_account():
    stream, _ = made()
    stream.add(b"x")
    stream.finish()
    stream.fail(ConnectionLost("gone"))
    assert [await stream.read(), await stream.read()] == [b"x", None]


async def test_a_reader_that_is_cancelled_leaves():
    stream, carrier = made()
    reading = asyncio.create_task(stream.read())
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert carrier.left == 1
    assert await stream.read() is None


async def test_a_failure_before_the_head_is_the_heads():
    stream, _ = made()
    stream.fail(ConnectionLost("gone"))
    with pytest.raises(ConnectionLost):
        await stream.head


@pytest.mark.parametrize(
    ("status", "length", "to_head", "short"),
    [(200, b"5", False, True), (200, b"0", False, False), (200, b"5", True, False), (304, b"5", False, False)],
)
async def test_an_answer_without_a_body_may_not_have_announced_one(
    status: int, length: bytes, to_head: bool, short: bool
):
    stream, _ = made()
    stream.to_head = to_head
    stream.begin(status, [(b"content-length", length)])
    assert stream.short is short


async def test_a_sender_waits_for_a_window_until_it_may_send():
    stream, _ = made()
    stream.may_send()  # nobody waits: nothing happens
    waiting = asyncio.create_task(stream.wait_for_window())
    await asyncio.sleep(0)
    assert not waiting.done()
    stream.may_send()
    await asyncio.wait_for(waiting, 5)
