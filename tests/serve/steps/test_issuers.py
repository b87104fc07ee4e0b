"""Whose a name is, after a restart, for the other workers of a host, and on other nodes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from edgeinf.core.clock import SystemClock
from edgeinf.core.config.scalar import Secret
from edgeinf.core.config.schema import Cache, Disk, Region, Shared
from edgeinf.mock import MockOrigin
from edgeinf.serve.fleet.hub import Hub
from edgeinf.serve.fleet.link import connect
from edgeinf.serve.fleet.member import Member
from edgeinf.serve.limits.local import LocalLimiter
from edgeinf.serve.origin.accounts import Accounts, name_digest
from edgeinf.serve.steps.issuers import _key
from tests.serve.fleet.real_redis import real_redis
from tests.serve.proxying import Proxy, proxying, region

Make = Callable[..., Awaitable[MockOrigin]]


async def _two(make_origin: Make) -> tuple[tuple[MockOrigin, MockOrigin], tuple[Region, Region]]:
    """Return two origins and their regions, each an account of its own; the first is down for now."""
    a, b = await make_origin(), await make_origin()
    a.down()
    return (a, b), (region(a, "a", api_key=Secret("key-a")), region(b, "b", api_key=Secret("key-b")))


async def _issue(proxy: Proxy, kind: str, **fields: Any) -> str:
    """Have region b issue a name and return it."""
    if kind == "file":
        made = await proxy.client.post("/v1/files", files={"file": ("x", b"hello")})
    else:
        made = await proxy.post("/v1/responses", {"model": "m", "input": "hi", **fields})
    assert made.headers["x-edgeinf-region"] == "b", made.text
    if "event-stream" in made.headers["content-type"]:
        return "resp_" + made.text.split('"id":"resp_')[1].split('"')[0]
    return str(made.json()["id"])


async def _where(proxy: Proxy, kind: str, name: str) -> tuple[int, str]:
    """Return which region is asked about a name."""
    if kind == "file":
        got = await proxy.client.get(f"/v1/files/{name}/content")
    else:
        got = await proxy.post("/v1/responses", {"model": "m", "input": "more", "previous_response_id": name})
    return got.status_code, got.headers["x-edgeinf-region"]


KINDS = pytest.mark.parametrize("kind", ["file", "response"])


@KINDS
async def test_after_a_restart_it_is_known(make_origin: Make, tmp_path: Path, kind: str) -> None:
    (a, _), regions = await _two(make_origin)
    cache = Cache(memory=None, disk=Disk(path=tmp_path / "cache"))
    async with proxying(*regions, cache=cache) as proxy:
        name = await _issue(proxy, kind)
    await a.up()
    async with proxying(*regions, cache=cache) as proxy:
        assert await _where(proxy, kind, name) == (200, "b")
    assert a.count == 0


async def test_what_a_stream_issued_is_known_after_a_restart(make_origin: Make, tmp_path: Path) -> None:
    (a, _), regions = await _two(make_origin)
    cache = Cache(memory=None, disk=Disk(path=tmp_path / "cache"))
    async with proxying(*regions, cache=cache) as proxy:
        name = await _issue(proxy, "response", stream=True)
    await a.up()
    async with proxying(*regions, cache=cache) as proxy:
        assert await _where(proxy, "response", name) == (200, "b")


@KINDS
async def test_the_other_nodes_of_a_redis_know_it(make_origin: Make, tmp_path: Path, kind: str) -> None:
    (a, _), regions = await _two(make_origin)
    with real_redis(tmp_path) as redis:
        cache = Cache(memory=None, disk=None, shared=Shared(url=redis.url, timeout=5.0))
        async with proxying(*regions, cache=cache) as one, proxying(*regions, cache=cache) as two:
            name = await _issue(one, kind)
            await one.runtime.tiers.flush()
            await a.up()
            assert await _where(two, kind, name) == (200, "b")
            redis.stop()
            assert await _where(two, kind, name) == (200, "b")
    assert a.count == 0


@asynccontextmanager
async def _workers(regions: tuple[Region, ...]) -> AsyncIterator[list[Proxy]]:
    """Run three servers as the workers of one parent, without anything on disk."""
    hub = Hub(LocalLimiter(SystemClock()))
    links = []
    async with AsyncExitStack() as stack:
        made = []
        for _ in range(3):
            proxy = await stack.enter_async_context(proxying(*regions))
            ours, theirs = socket.socketpair()
            hub_end = await connect(ours, hub.handlers(), on_lost=hub.lost)
            hub.add(hub_end)
            handlers: dict[str, Any] = {}
            worker_end = await connect(theirs, handlers)
            member = Member(proxy.runtime, worker_end)
            handlers.update(member.handlers())
            proxy.runtime.peers = member
            links += [hub_end, worker_end]
            made.append(proxy)
        yield made
        for link in links:
            link.close()
        await asyncio.sleep(0)


@KINDS
async def test_the_other_workers_of_a_host_know_it(make_origin: Make, kind: str) -> None:
    (a, _), regions = await _two(make_origin)
    async with _workers(regions) as workers:
        name = await _issue(workers[0], kind)
        await a.up()
        async with asyncio.timeout(10):
            while not all(len(worker.runtime.accounts) for worker in workers):  # noqa: ASYNC110 - of other processes
                await asyncio.sleep(0.01)
        for worker in workers:
            assert await _where(worker, kind, name) == (200, "b")
    assert a.count == 0


async def test_with_one_account_nothing_is_written(make_origin: Make, tmp_path: Path) -> None:
    a, b = await make_origin(), await make_origin()
    regions = (region(a, "a", api_key=Secret("same")), region(b, "b", api_key=Secret("same")))
    async with proxying(*regions, cache=Cache(memory=None, disk=Disk(path=tmp_path / "cache"))) as proxy:
        await proxy.client.post("/v1/files", files={"file": ("x", b"hello")})
        await proxy.runtime.tiers.flush()
        assert (await proxy.runtime.tiers.far[0].stats()).entries == 0


async def test_what_is_written_holds_no_name_and_no_credential(make_origin: Make, tmp_path: Path) -> None:
    _, regions = await _two(make_origin)
    async with proxying(*regions, cache=Cache(memory=None, disk=Disk(path=tmp_path / "cache"))) as proxy:
        name = await _issue(proxy, "file")
        await proxy.runtime.tiers.flush()
        [tier] = proxy.runtime.tiers.far
        [find] = await tier.scan()
        raw = await tier.get(find)
    assert raw is not None
    assert name.encode() not in raw
    assert b"key-b" not in raw


async def test_what_is_damaged_or_another_thing_says_nothing(make_origin: Make, tmp_path: Path) -> None:
    (a, _), regions = await _two(make_origin)
    async with proxying(*regions, cache=Cache(memory=None, disk=Disk(path=tmp_path / "cache"))) as proxy:
        name = await _issue(proxy, "file")
        await proxy.runtime.tiers.flush()
        key = _key(name_digest(name), proxy.runtime.seed)
        found = await proxy.runtime.tiers.get(key)
        assert found is not None
        await a.up()
        for changed in ({"body": b"[1]"}, {"dialect": "openai-chat"}):
            proxy.runtime.accounts = Accounts()
            proxy.runtime.tiers.put(key, msgspec.structs.replace(found.entry, **changed), near=False)
            assert await _where(proxy, "file", name) == (404, "a")
