"""A limiter that is elsewhere: what it last said is remembered, and nothing taken is lost."""

from __future__ import annotations

import asyncio
import socket

import msgspec
import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.serve.fleet.link import Link, connect
from edgeinf.serve.fleet.remote_limits import HubLimiter, Remembered
from edgeinf.serve.limits.base import Charge, Level, Taken
from edgeinf.serve.limits.local import LocalLimiter

TOKENS = Charge(limit="t", kind="tokens", subject="s", capacity=100, period_s=60, cost=10)


def test_of_an_unknown_counter_nothing_is_free() -> None:
    assert Remembered(FakeClock()).spare(TOKENS) == 0.0


@pytest.mark.parametrize(("later_s", "spare"), [(0, 0.2), (24, 0.6), (48, 1.0)], ids=["now", "half", "empty"])
def test_a_counter_drains_as_time_passes(later_s: float, spare: float) -> None:
    clock = FakeClock()
    remembered = Remembered(clock)
    remembered.learn([TOKENS], Taken(levels=(Level(80.0, 48.0),)))
    clock.advance(later_s)
    assert remembered.spare(TOKENS) == pytest.approx(spare)


async def test_what_a_cancelled_call_took_is_given_back() -> None:
    told: list[tuple[str, Charge, float]] = []
    may_answer = asyncio.Event()
    settled = asyncio.Event()

    async def take(link: Link, body: msgspec.Raw) -> Taken:
        await may_answer.wait()
        return Taken(levels=(Level(10.0, 6.0),))

    def settle(link: Link, body: msgspec.Raw) -> None:
        told.append(msgspec.msgpack.decode(body, type=tuple[str, Charge, float]))
        settled.set()

    ours, theirs = socket.socketpair()
    far = await connect(ours, {"take": take, "settle": settle})
    near = await connect(theirs, {})
    limiter = HubLimiter(near, FakeClock(), LocalLimiter(FakeClock()))
    call = asyncio.create_task(limiter.take("c", [TOKENS]))
    await asyncio.sleep(0.02)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    may_answer.set()
    async with asyncio.timeout(10):
        await settled.wait()
    assert told == [("c", TOKENS, 0.0)]
    near.close()
    far.close()


async def test_without_the_hub_a_worker_counts_for_itself() -> None:
    ours, theirs = socket.socketpair()
    far = await connect(ours, {})
    near = await connect(theirs, {})
    far.close()
    await asyncio.sleep(0.05)
    limiter = HubLimiter(near, FakeClock(), LocalLimiter(FakeClock()))
    taken = [await limiter.take(f"c{n}", [TOKENS]) for n in range(11)]
    assert [each.refused for each in taken] == [None] * 10 + [0]
    limiter.settle("c0", TOKENS, 0.0)
    assert (await limiter.take("again", [TOKENS])).refused is None
