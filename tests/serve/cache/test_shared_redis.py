"""The shared tier keeps the promises of every tier, over a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.serve.cache.base import TierFailed
from edgeinf.serve.cache.shared_redis import SharedTier
from edgeinf.serve.fleet.redis_link import RedisLink
from tests.serve.fleet.real_redis import RealRedis, real_redis

FIND = bytes(range(16))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[tuple[SharedTier, RealRedis]]:
    with real_redis(tmp_path) as redis:
        tier = SharedTier(RedisLink(redis.url, timeout_s=2.0, clock=FakeClock()))
        yield tier, redis
        await tier.aclose()


async def test_what_is_put_is_got_byte_for_byte(store: tuple[SharedTier, RealRedis]) -> None:
    tier, _ = store
    raw = bytes(range(256)) * 500
    await tier.put([(FIND, raw, 60.0), (b"x" * 16, b"other", float("inf"))])
    assert await tier.get(FIND) == raw
    assert await tier.get(b"x" * 16) == b"other"
    assert await tier.get(b"y" * 16) is None
    assert sorted(await tier.scan()) == [FIND, b"x" * 16]
    stats = await tier.stats()
    assert (stats.name, stats.entries) == ("shared", 2)
    assert stats.size_bytes > len(raw)


async def test_it_is_gone_when_its_time_is_over(store: tuple[SharedTier, RealRedis]) -> None:
    tier, _ = store
    await tier.put([(FIND, b"raw", 0.1)])
    async with asyncio.timeout(10):
        while await tier.get(FIND) is not None:  # noqa: ASYNC110 - a state of another process
            await asyncio.sleep(0.02)


async def test_delete_and_clear_forget_what_is_ours_and_nothing_else(store: tuple[SharedTier, RealRedis]) -> None:
    tier, redis = store
    redis.command("SET", "somebody", "else")
    await tier.put([(bytes([n]) * 16, b"raw", 60.0) for n in range(40)])
    await tier.delete(bytes([0]) * 16)
    await tier.delete(bytes([0]) * 16)
    assert await tier.clear() == 39
    assert await tier.scan() == []
    assert (await tier.stats()).entries == 1


async def test_a_redis_that_is_away_is_a_failed_tier(store: tuple[SharedTier, RealRedis]) -> None:
    tier, redis = store
    await tier.put([(FIND, b"raw", 60.0)])
    redis.stop()
    with pytest.raises(TierFailed, match="redis at 127"):
        await tier.get(FIND)
    with pytest.raises(TierFailed):
        await tier.put([(FIND, b"raw", 60.0)])


async def test_one_slow_lookup_is_a_miss(tmp_path: Path) -> None:
    with real_redis(tmp_path) as redis:
        tier = SharedTier(RedisLink(redis.url, timeout_s=0.1, clock=FakeClock()))
        await tier.put([(FIND, b"raw", 60.0)])
        redis.freeze()
        assert await tier.get(FIND) is None
        redis.thaw()
        await tier.aclose()


async def test_what_has_no_room_is_counted_and_lookups_go_on(store: tuple[SharedTier, RealRedis]) -> None:
    tier, redis = store
    said: list[bool] = []
    tier.on_full = said.append
    await tier.put([(FIND, b"raw", 60.0)])
    redis.command("CONFIG", "SET", "maxmemory", "1")
    await tier.put([(b"n" * 16, b"raw", 60.0)])
    assert (tier.refused, said) == (1, [False, True])
    assert await tier.get(FIND) == b"raw"
