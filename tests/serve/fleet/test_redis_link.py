"""The way to a Redis: each kind of URL leads somewhere, and a failing one is left out and found again by one call."""

from __future__ import annotations

import asyncio
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.clock import FakeClock, SystemClock
from edgeinf.serve.fleet.redis_link import RedisDown, RedisFull, RedisLink
from tests.programs import need
from tests.serve.fleet.real_redis import RealRedis, real_redis


async def echo(link: RedisLink) -> bytes:
    async def work(client: Any) -> bytes:
        await client.set(b"edgeinf:test", b"value")
        return bytes(await client.get(b"edgeinf:test"))

    return await link.run(work, timeout_s=5.0)


async def test_a_plain_url_and_a_socket_lead_there(tmp_path: Path) -> None:
    with real_redis(tmp_path, "--unixsocket", str(tmp_path / "s"), "--requirepass", "pass") as redis:
        for url in (redis.url.replace("//", "//:pass@"), f"unix://:pass@{tmp_path / 's'}?db=0"):
            link = RedisLink(url, timeout_s=2.0, clock=SystemClock())
            assert await echo(link) == b"value"
            assert "pass" not in link.place
            await link.aclose()


async def test_a_sentinel_names_the_master(tmp_path: Path) -> None:
    with real_redis(tmp_path) as redis:
        (tmp_path / "sentinel").mkdir()
        sentinel = RealRedis(need("redis-server"), tmp_path / "sentinel", "--sentinel")
        config = tmp_path / "sentinel.conf"
        config.write_text(f"port {sentinel.port}\nbind 127.0.0.1\nsentinel monitor main 127.0.0.1 {redis.port} 1\n")
        sentinel._options = (str(config), "--sentinel")
        process = await asyncio.create_subprocess_exec(
            need("redis-server"), str(config), "--sentinel", stdout=asyncio.subprocess.DEVNULL
        )
        try:
            await _listens(sentinel.port)
            link = RedisLink(f"redis+sentinel://127.0.0.1:{sentinel.port}/main/0", timeout_s=2.0, clock=SystemClock())
            assert await echo(link) == b"value"
            await link.aclose()
        finally:
            process.kill()
            await process.wait()


async def test_a_cluster_is_one_store(tmp_path: Path) -> None:
    with real_redis(tmp_path, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf") as redis:
        redis.command("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        await asyncio.sleep(1.5)  # a cluster of one takes a moment to call itself whole
        link = RedisLink(f"redis+cluster://127.0.0.1:{redis.port}", timeout_s=2.0, clock=SystemClock())
        async with asyncio.timeout(20):
            while True:
                try:
                    assert await echo(link) == b"value"
                    break
                except RedisDown:
                    await asyncio.sleep(0.2)
        await link.aclose()


async def _listens(port: int) -> None:
    async with asyncio.timeout(20):
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                await asyncio.sleep(0.05)


async def test_a_refused_connection_leaves_it_out_at_once_without_a_secret_in_the_words() -> None:
    link = RedisLink("redis://user:secret@127.0.0.1:1/0", timeout_s=1.0, clock=FakeClock())
    with pytest.raises(RedisDown):
        await link.run(lambda client: client.ping())
    assert link.down is not None
    assert "secret" not in link.down
    await link.aclose()


async def test_while_it_is_left_out_nobody_waits_and_then_one_call_finds_out(redis: RealRedis) -> None:
    clock = FakeClock()
    link = RedisLink(redis.url, timeout_s=0.1, clock=clock)
    said: list[str | None] = []
    link.on_change = said.append
    await link.run(lambda client: client.ping(), timeout_s=5.0)
    redis.freeze()
    for _ in range(3):
        with pytest.raises(RedisDown):
            await link.run(lambda client: client.ping())
    assert link.down is not None
    started = time.monotonic()
    for _ in range(100):
        with pytest.raises(RedisDown):
            await link.run(lambda client: client.ping())
    assert time.monotonic() - started < 1.0
    clock.advance(10)
    calls = await asyncio.gather(*(link.run(lambda client: client.ping()) for _ in range(20)), return_exceptions=True)
    assert all(isinstance(call, RedisDown) for call in calls)
    redis.thaw()
    clock.advance(10)
    await link.run(lambda client: client.ping())
    assert link.down is None
    assert [word is None for word in said] == [False, True]
    await link.aclose()


async def test_one_slow_answer_does_not_leave_it_out(redis: RealRedis) -> None:
    link = RedisLink(redis.url, timeout_s=0.1, clock=FakeClock())
    await link.run(lambda client: client.ping(), timeout_s=5.0)
    redis.freeze()
    with pytest.raises(RedisDown):
        await link.run(lambda client: client.ping())
    redis.thaw()
    assert link.down is None
    await link.run(lambda client: client.ping(), timeout_s=5.0)
    await link.aclose()


async def test_after_a_restart_old_connections_cost_no_call(redis: RealRedis) -> None:
    link = RedisLink(redis.url, timeout_s=2.0, clock=FakeClock())
    await asyncio.gather(*(link.run(lambda client: client.ping()) for _ in range(8)))
    redis.stop()
    redis.start()
    await asyncio.gather(*(link.run(lambda client: client.ping()) for _ in range(8)))
    assert link.down is None
    await link.aclose()


async def test_a_full_one_says_so_and_stays_in_use(redis: RealRedis) -> None:
    redis.command("CONFIG", "SET", "maxmemory", "1")
    link = RedisLink(redis.url, timeout_s=2.0, clock=FakeClock())
    with pytest.raises(RedisFull):
        await link.run(lambda client: client.set(b"k", b"v"))
    assert link.down is None
    await link.aclose()


async def test_a_closed_one_opens_no_connection_again(redis: RealRedis) -> None:
    link = RedisLink(redis.url, timeout_s=2.0, clock=FakeClock())
    await link.run(lambda client: client.ping())
    await link.aclose()
    with pytest.raises(RedisDown):
        await link.run(lambda client: client.ping())
