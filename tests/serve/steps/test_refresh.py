"""stale_while_revalidate: the expired answer once more, at once, and one call behind it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Cache, Limit, Price
from edgeinf.core.events import Event
from edgeinf.mock import MockOrigin
from tests.serve.proxying import Proxy, ask_chat, proxying, region, text_of

TTL, WINDOW = 100.0, 50.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def front(origin: MockOrigin, clock: FakeClock) -> AsyncIterator[Proxy]:
    cache = Cache(disk=None, ttl=TTL, ttl_jitter=0.0, stale_while_revalidate=WINDOW, stale_if_error=0.0)
    async with proxying(region(origin, "r"), cache=cache, clock=clock) as proxy:
        yield proxy


async def test_the_old_answer_comes_at_once_and_the_next_one_behind_it(
    origin: MockOrigin, front: Proxy, clock: FakeClock
) -> None:
    origin.use({"answer": {"sampled": True}})
    old = await ask_chat(front)
    clock.advance(TTL + 1)
    origin.use({"answer": {"sampled": True}, "headers_delay": "300ms"})
    stale = await ask_chat(front)
    assert origin.active <= 1
    assert (stale.headers["x-edgeinf-cache"], text_of(stale)) == ("stale", text_of(old))
    assert "fwd=stale" in stale.headers["cache-status"]
    assert int(stale.headers["age"]) == TTL + 1
    await origin.until(lambda: origin.count == 2 and not origin.active)
    await _settled(front)
    fresh = await ask_chat(front)
    assert fresh.headers["x-edgeinf-cache"] == "hit"
    assert text_of(fresh) != text_of(old)
    assert origin.count == 2


async def test_many_askers_cause_one_call(origin: MockOrigin, front: Proxy, clock: FakeClock) -> None:
    await ask_chat(front)
    clock.advance(TTL + 1)
    origin.use({"headers_delay": "300ms"})
    kinds = [
        answer.headers["x-edgeinf-cache"] for answer in await asyncio.gather(*(ask_chat(front) for _ in range(20)))
    ]
    assert kinds == ["stale"] * 20
    await _settled(front)
    assert origin.count == 2


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_either_shape_is_served_stale(stream: bool, origin: MockOrigin, front: Proxy, clock: FakeClock) -> None:
    first = await ask_chat(front, stream=not stream)
    clock.advance(TTL + 1)
    stale = await ask_chat(front, stream=stream)
    assert stale.headers["x-edgeinf-cache"] == "stale"
    assert ("event-stream" in stale.headers["content-type"]) is stream
    assert text_of(stale) == text_of(first)
    await _settled(front)


async def test_past_the_window_the_client_waits_for_the_origin(
    origin: MockOrigin, front: Proxy, clock: FakeClock
) -> None:
    await ask_chat(front)
    clock.advance(TTL + WINDOW + 1)
    assert (await ask_chat(front)).headers["x-edgeinf-cache"] == "miss"


async def test_who_wants_it_fresh_waits_for_the_origin(origin: MockOrigin, front: Proxy, clock: FakeClock) -> None:
    await ask_chat(front)
    clock.advance(TTL + 1)
    body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    answer = await front.post("/v1/chat/completions", body, cache_control="max-age=10")
    assert answer.headers["x-edgeinf-cache"] == "miss"


async def test_a_failed_refresh_leaves_the_old_answer_and_is_not_repeated_at_once(
    origin: MockOrigin, front: Proxy, clock: FakeClock
) -> None:
    old = await ask_chat(front)
    clock.advance(TTL + 1)
    origin.use({"fault": "400"})
    assert text_of(await ask_chat(front)) == text_of(old)
    await _settled(front)
    for _ in range(5):
        assert text_of(await ask_chat(front)) == text_of(old)
    await _settled(front)
    assert origin.count == 2
    clock.advance(10)
    origin.use({})
    await ask_chat(front)
    await _settled(front)
    assert (await ask_chat(front)).headers["x-edgeinf-cache"] == "hit"


async def _stats(front: Proxy) -> dict[str, Any]:
    totals: dict[str, Any] = (await front.client.get("/_edgeinf/api/stats")).json()["totals"]
    return totals


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_refresh_is_told_and_paid_for_and_is_nobodys_request(
    origin: MockOrigin, clock: FakeClock, stream: bool
) -> None:
    events: list[Event] = []
    cache = Cache(disk=None, ttl=TTL, ttl_jitter=0.0, stale_while_revalidate=WINDOW)
    async with proxying(region(origin, "r"), cache=cache, clock=clock, prices={"m": Price(input=1, output=1)}) as front:
        front.runtime.events.put = events.append  # type: ignore[method-assign]
        await ask_chat(front, stream=stream)
        paid = (await _stats(front))["usd"]
        clock.advance(TTL + 1)
        await ask_chat(front, stream=stream)
        await _settled(front)
        await ask_chat(front, stream=stream)
        totals = await _stats(front)
        metrics = (await front.client.get("/metrics")).text
        shown = (await front.client.get("/_edgeinf/api/events")).json()["events"]
    first, *others = events
    [refresh] = [event for event in others if event.reason == "refresh"]
    asked = [event for event in events if event is not refresh]
    assert [event.cache for event in asked] == ["miss", "stale", "hit"]
    assert (refresh.cache, refresh.status, refresh.region, refresh.attempts) == ("miss", 200, "r", 1)
    assert (refresh.usd, refresh.output_tokens, refresh.keys) == (first.usd, first.output_tokens, first.keys)
    assert refresh.stored
    assert refresh.tenant == first.tenant
    assert len({event.id for event in events}) == 4
    assert (totals["requests"], totals["hits"], totals["misses"], totals["stale"]) == (3, 1, 1, 1)
    assert totals["hit_rate"] == pytest.approx(1 / 3)
    assert totals["usd"] == pytest.approx(2 * paid)
    assert sum(int(line.split()[-1]) for line in metrics.splitlines() if "requests_total{" in line) == 3
    assert 'edgeinf_attempts_total{region="r"} 2' in metrics
    assert sorted(event["why"] for event in shown)[0] == "fetched behind a stale answer"


async def test_a_refresh_that_fails_is_told_with_its_error(origin: MockOrigin, front: Proxy, clock: FakeClock) -> None:
    events: list[Event] = []
    await ask_chat(front)
    front.runtime.events.put = events.append  # type: ignore[method-assign]
    clock.advance(TTL + 1)
    origin.use({"fault": {"kind": "reset", "at": "headers"}})
    await ask_chat(front)
    await _settled(front)
    [refresh] = [event for event in events if event.reason == "refresh"]
    assert (refresh.cache, refresh.status, refresh.error, refresh.stored) == ("miss", 502, "origin_cut", False)
    assert (await _stats(front))["errors"] == 0


async def test_a_refresh_that_limits_refuse_was_no_call(origin: MockOrigin, clock: FakeClock) -> None:
    events: list[Event] = []
    cache = Cache(disk=None, ttl=TTL, ttl_jitter=0.0, stale_while_revalidate=WINDOW)
    limits = (Limit(name="one", requests=(1, 3600.0), count_hits="none"),)
    async with proxying(region(origin, "r"), cache=cache, clock=clock, limits=limits) as front:
        front.runtime.events.put = events.append  # type: ignore[method-assign]
        await ask_chat(front)
        clock.advance(TTL + 1)
        await ask_chat(front)
        await _settled(front)
    assert [event.cache for event in events] == ["miss", "stale"]
    assert origin.count == 1


async def _settled(front: Proxy) -> None:
    """Wait until nothing is fetched."""
    async with asyncio.timeout(10):
        while front.runtime.flights:  # noqa: ASYNC110 - flights say nothing when they leave
            await asyncio.sleep(0.002)
