"""The script in Redis decides as the limiter in memory does, charge for charge."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator

import pytest

from edgeinf.core.clock import SystemClock
from edgeinf.serve.fleet.redis_limits import RedisLimiter
from edgeinf.serve.fleet.redis_link import RedisLink
from edgeinf.serve.limits.base import Charge, Kind
from edgeinf.serve.limits.local import LocalLimiter
from tests.serve.fleet.real_redis import RealRedis

CLOCK = SystemClock()


def charge(kind: Kind, cost: float, *, capacity: float = 10, subject: str = "s") -> Charge:
    period = 0.0 if kind == "concurrency" else 36_000_000.0  # nothing flows back while a test runs
    return Charge(limit=kind, kind=kind, subject=subject, capacity=capacity, period_s=period, cost=cost)


def limiter_at(redis: RealRedis, node: str = "n") -> RedisLimiter:
    return RedisLimiter(RedisLink(redis.url, timeout_s=2.0, clock=CLOCK), CLOCK, LocalLimiter(CLOCK), node)


@pytest.fixture
async def limiter(redis: RealRedis) -> AsyncIterator[RedisLimiter]:
    made = limiter_at(redis)
    yield made
    await made.aclose()


async def settled(limiter: RedisLimiter) -> None:
    while limiter._tasks:
        await asyncio.gather(*limiter._tasks)


@pytest.mark.parametrize("seed", range(4))
async def test_it_decides_as_the_limiter_in_memory_does(limiter: RedisLimiter, seed: int) -> None:
    rng = random.Random(seed)
    local = LocalLimiter(CLOCK)
    open_calls: list[tuple[str, list[Charge]]] = []
    for number in range(60):
        if open_calls and rng.random() < 0.4:
            call_id, held = open_calls.pop(rng.randrange(len(open_calls)))
            for each in held:
                actual = each.cost if each.kind == "requests" else rng.choice([0.0, 1.0, each.cost, each.cost + 2])
                limiter.settle(call_id, each, actual)
                local.settle(call_id, each, actual)
            await settled(limiter)
            continue
        kinds: list[Kind] = rng.sample(["requests", "tokens", "concurrency", "budget"], rng.randrange(1, 5))
        held = [
            charge(kind, 1.0 if kind in ("requests", "concurrency") else rng.choice([0.0, 1.0, 3.0, 20.0]),
                   subject=rng.choice("ab"))
            for kind in kinds
        ]  # fmt: skip
        here, there = await local.take(f"c{number}", held), await limiter.take(f"c{number}", held)
        assert here.refused == there.refused
        assert (here.retry_s is None) == (there.retry_s is None)
        assert [level.used for level in there.levels] == pytest.approx([level.used for level in here.levels], abs=1e-3)
        if here.refused is None:
            open_calls.append((f"c{number}", held))


async def test_a_refused_call_takes_nothing(limiter: RedisLimiter) -> None:
    both = [charge("tokens", 4.0), charge("requests", 1.0, capacity=1)]
    assert (await limiter.take("a", both)).refused is None
    refused = await limiter.take("b", both)
    assert refused.refused == 1
    assert refused.levels[0].used == pytest.approx(4.0, abs=1e-3)


async def test_nodes_racing_for_a_counter_never_pass_it(redis: RealRedis) -> None:
    nodes = [limiter_at(redis, f"n{number}") for number in range(4)]
    taken = await asyncio.gather(*(nodes[n % 4].take(f"c{n}", [charge("tokens", 2.0)]) for n in range(60)))
    assert sum(each.refused is None for each in taken) == 5
    for node in nodes:
        await node.aclose()


async def test_a_slot_that_its_node_does_not_renew_comes_back(
    redis: RealRedis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeinf.serve.fleet.redis_limits._LEASE_S", 0.3)
    dead, alive = limiter_at(redis, "dead"), limiter_at(redis, "alive")
    one = charge("concurrency", 1.0, capacity=1)
    assert (await dead.take("a", [one])).refused is None
    assert (await alive.take("b", [one])).refused == 0
    await asyncio.sleep(0.35)
    assert (await alive.take("b", [one])).refused is None
    await dead.aclose()
    await alive.aclose()


async def test_a_slot_in_use_is_renewed(redis: RealRedis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeinf.serve.fleet.redis_limits._LEASE_S", 2.0)
    monkeypatch.setattr("edgeinf.serve.fleet.redis_limits._RENEW_S", 0.1)
    holder, other = limiter_at(redis, "holder"), limiter_at(redis, "other")
    keeping = asyncio.create_task(holder.keep())
    one = charge("concurrency", 1.0, capacity=1)
    await holder.take("a", [one])
    await asyncio.sleep(2.5)
    assert (await other.take("b", [one])).refused == 0
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
    await holder.aclose()
    await other.aclose()


async def test_what_was_taken_without_redis_is_settled_without_it(redis: RealRedis) -> None:
    limiter = limiter_at(redis)
    redis.stop()
    one = charge("concurrency", 1.0, capacity=1)
    assert (await limiter.take("a", [one])).refused is None
    assert (await limiter.take("b", [one])).refused == 0
    redis.start()
    limiter.settle("a", one, 0.0)
    assert limiter._scaled == {}
    await limiter.aclose()
