"""The hub: one limiter, one leader per question, and nothing left behind by a worker that dies."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator

import msgspec
import pytest

from edgeinf.core.clock import SystemClock
from edgeinf.serve.fleet.hub import Hub, Joined
from edgeinf.serve.fleet.link import Link, connect
from edgeinf.serve.fleet.remote_limits import HubLimiter
from edgeinf.serve.limits.base import Charge
from edgeinf.serve.limits.local import LocalLimiter


class Host:
    """A hub and as many ends of workers as a test wants."""

    def __init__(self) -> None:
        self.hub = Hub(LocalLimiter(SystemClock()))
        self.ends: list[Link] = []
        self.followed: list[bytes] = []
        self.issued: list[tuple[int, object]] = []

    async def worker(self) -> Link:
        ours, theirs = socket.socketpair()
        ours_link = await connect(ours, self.hub.handlers(), on_lost=self.hub.lost)
        self.hub.add(ours_link)
        number = len(self.hub.links)

        def issued(link: Link, body: msgspec.Raw) -> None:
            self.issued.append((number, msgspec.msgpack.decode(body)))

        follow = lambda _, body: self.followed.append(bytes(body))  # noqa: E731 - one use, below
        end = await connect(theirs, {"follow": follow, "lost": _ignore, "issued": issued})
        self.ends += [ours_link, end]
        return end


def _ignore(link: Link, body: object) -> None: ...


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    made = Host()
    yield made
    for end in made.ends:
        end.close()
    await asyncio.sleep(0)


SLOT = Charge(limit="l", kind="concurrency", subject="s", capacity=2, period_s=0, cost=1)
TOKENS = Charge(limit="t", kind="tokens", subject="s", capacity=100, period_s=3600, cost=30)


async def test_workers_share_one_counter(host: Host) -> None:
    limiters = [HubLimiter(await host.worker(), SystemClock(), LocalLimiter(SystemClock())) for _ in range(3)]
    taken = await asyncio.gather(*(limiters[n % 3].take(f"c{n}", [TOKENS]) for n in range(12)))
    assert sum(each.refused is None for each in taken) == 3


async def test_the_slots_of_a_worker_that_dies_are_free_again(host: Host) -> None:
    one, two = await host.worker(), await host.worker()
    first = HubLimiter(one, SystemClock(), LocalLimiter(SystemClock()))
    second = HubLimiter(two, SystemClock(), LocalLimiter(SystemClock()))
    assert [(await first.take(f"c{n}", [SLOT])).refused for n in range(2)] == [None, None]
    assert (await second.take("c9", [SLOT])).refused == 0
    one.close()
    async with asyncio.timeout(10):
        while (await second.take("c9", [SLOT])).refused is not None:  # noqa: ASYNC110 - a state of another process
            await asyncio.sleep(0.01)


async def test_a_slot_that_is_given_back_twice_is_free_once(host: Host) -> None:
    worker = await host.worker()
    limiter = HubLimiter(worker, SystemClock(), LocalLimiter(SystemClock()))
    for name in ("a", "b"):
        await limiter.take(name, [SLOT])
    limiter.settle("a", SLOT, 0.0)
    limiter.settle("a", SLOT, 0.0)
    assert (await limiter.take("c", [SLOT])).refused is None
    assert (await limiter.take("d", [SLOT])).refused == 0


async def test_one_leads_and_the_others_follow_it(host: Host) -> None:
    workers = [await host.worker() for _ in range(3)]
    joined = [await worker.ask("join", (b"k", True), Joined) for worker in workers]
    assert [each.leads for each in joined] == [True, False, False]
    assert len({each.number for each in joined[1:]}) == 2
    async with asyncio.timeout(10):
        while len(host.followed) < 2:  # noqa: ASYNC110 - a state of another process
            await asyncio.sleep(0.01)


async def test_who_has_the_answer_is_asked_before_it_is_fetched_again(host: Host) -> None:
    one, two = await host.worker(), await host.worker()
    await one.ask("join", (b"k", True), Joined)
    one.tell("over", (b"k", True))
    held = await two.ask("join", (b"k", True), Joined)
    assert (held.leads, held.held) == (False, True)
    assert (await two.ask("join", (b"k", False), Joined)).leads


async def test_a_fetch_that_brought_nothing_to_keep_leaves_no_trace(host: Host) -> None:
    one, two = await host.worker(), await host.worker()
    await one.ask("join", (b"k", True), Joined)
    one.tell("over", (b"k", False))
    await one.ask("take", ("", []), object)  # what was told before is handled by now
    joined = await two.ask("join", (b"k", True), Joined)
    assert (joined.leads, joined.look_again) == (True, False)


async def test_the_lead_of_a_worker_that_dies_passes_on(host: Host) -> None:
    one, two = await host.worker(), await host.worker()
    await one.ask("join", (b"k", True), Joined)
    one.close()
    async with asyncio.timeout(10):
        while not (await two.ask("join", (b"k", True), Joined)).leads:  # noqa: ASYNC110 - a state of another process
            await asyncio.sleep(0.01)


async def test_who_issued_names_is_told_to_all_others(host: Host) -> None:
    workers = [await host.worker() for _ in range(3)]
    workers[1].tell("issued", ([b"digest"], "region", "account"))
    async with asyncio.timeout(10):
        while len(host.issued) < 2:  # noqa: ASYNC110 - a state of another process
            await asyncio.sleep(0.01)
    told = [[b"digest"], "region", "account"]
    assert sorted(host.issued) == [(1, told), (3, told)]
