"""The lease of a fetch: held by one, renewed while it lasts, given back by its holder only."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from edgeinf.core.clock import SystemClock
from edgeinf.serve.fleet.redis_flights import RedisFlights
from edgeinf.serve.fleet.redis_link import RedisLink
from edgeinf.serve.fleet.redis_streams import RedisStreams
from edgeinf.serve.runtime import make_runtime
from tests.serve.fleet.real_redis import RealRedis
from tests.serve.running import config_for


async def test_a_lease_is_for_one_and_only_its_holder_can_give_it_back(redis: RealRedis, tmp_path: Path) -> None:
    runtime = make_runtime(config_for(tmp_path, "http://127.0.0.1:9"))
    link = RedisLink(redis.url, timeout_s=2.0, clock=SystemClock())
    flights = RedisFlights(runtime, link, None, RedisStreams(runtime, link, link))
    assert await flights._lease(b"k", b"one")
    assert not await flights._lease(b"k", b"two")
    await flights._release(b"k", b"two")
    assert not await flights._lease(b"k", b"three")
    await flights._release(b"k", b"one")
    assert await flights._lease(b"k", b"three")
    await link.aclose()
    await runtime.aclose()


async def test_a_long_fetch_keeps_its_lease(redis: RealRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgeinf.serve.fleet.redis_flights._LEASE_S", 1.0)
    monkeypatch.setattr("edgeinf.serve.fleet.redis_flights._RENEW_S", 0.1)
    runtime = make_runtime(config_for(tmp_path, "http://127.0.0.1:9"))
    link = RedisLink(redis.url, timeout_s=2.0, clock=SystemClock())
    flights = RedisFlights(runtime, link, None, RedisStreams(runtime, link, link))
    assert await flights._lease(b"k", b"one")
    renewing = asyncio.create_task(flights._renew(b"k", b"one"))
    await asyncio.sleep(1.5)
    assert not await flights._lease(b"k", b"two")
    renewing.cancel()
    await asyncio.gather(renewing, return_exceptions=True)
    async with asyncio.timeout(10):
        while not await flights._lease(b"k", b"two"):  # noqa: ASYNC110 - a state of another process
            await asyncio.sleep(0.05)
    await link.aclose()
    await runtime.aclose()
