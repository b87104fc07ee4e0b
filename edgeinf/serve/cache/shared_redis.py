"""The tier that nodes share: Redis or Valkey, with its own circuit, so that a slow one costs a timeout and not more.

Entries carry their proof, so whatever else writes there cannot make this node serve it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from edgeinf.serve.cache.base import TierFailed, TierStats
from edgeinf.serve.fleet.redis_link import RedisDown, RedisFull, RedisLink

__all__ = ["SharedTier"]

T = TypeVar("T")

_PREFIX = b"edgeinf:c:"
# Writes are behind the caller's back and may take longer than a lookup; so may a look at everything.
_WRITE_S = 2.0
_SCAN_S = 60.0


class SharedTier:
    """Keeps entries under ``edgeinf:c:`` and their find key; what does not fit is not kept."""

    name = "shared"

    def __init__(self, link: RedisLink) -> None:
        self.link = link
        self.refused = 0  # entries for which there was no room
        self.on_full: Callable[[bool], None] = lambda full: None

    async def get(self, find: bytes) -> bytes | None:
        try:
            found = await self.link.run(lambda client: client.get(_PREFIX + find))
        except RedisDown as error:
            if self.link.down is None:
                return None  # one slow answer is a miss; the circuit decides when it is more
            raise TierFailed(str(error)) from None
        return found if isinstance(found, bytes) else None

    async def put(self, items: Sequence[tuple[bytes, bytes, float]]) -> None:
        async def write(client: Any) -> None:
            pipeline = client.pipeline(transaction=False)
            for find, raw, keep_s in items:
                kept_ms = None if keep_s == float("inf") else max(1, round(keep_s * 1000))
                pipeline.set(_PREFIX + find, raw, px=kept_ms)
            await pipeline.execute()

        try:
            await self.link.run(write, timeout_s=_WRITE_S)
        except RedisFull:
            self.refused += len(items)  # it still answers lookups, so it is not left out
            self.on_full(True)
        except RedisDown as error:
            raise TierFailed(str(error)) from None
        else:
            self.on_full(False)

    async def delete(self, find: bytes) -> None:
        await self._run(lambda client: client.delete(_PREFIX + find))

    async def clear(self) -> int:
        async def forget(client: Any) -> int:
            count = 0
            batch: list[bytes] = []
            async for key in client.scan_iter(match=_PREFIX + b"*", count=1000):
                batch.append(key)
                if len(batch) >= 500:
                    count += await _unlink(client, batch)
            return count + await _unlink(client, batch)

        return await self._run(forget, timeout_s=_SCAN_S)

    async def scan(self) -> list[bytes]:
        async def look(client: Any) -> list[bytes]:
            found = client.scan_iter(match=_PREFIX + b"*", count=1000)
            return [bytes(key)[len(_PREFIX) :] async for key in found]

        return await self._run(look, timeout_s=_SCAN_S)

    async def stats(self) -> TierStats:
        async def ask(client: Any) -> tuple[int, Any]:
            return await client.dbsize(), await client.info("memory")

        entries, memory = await self._run(ask, timeout_s=1.0)
        if "used_memory" not in memory:  # a cluster answers for each node
            per_node = [each for each in memory.values() if isinstance(each, dict)]
            memory = {name: sum(int(n.get(name, 0)) for n in per_node) for name in ("used_memory", "maxmemory")}
        return TierStats(
            name=self.name,
            entries=int(entries),
            size_bytes=int(memory.get("used_memory", 0)),
            max_size_bytes=int(memory.get("maxmemory", 0)) or None,
        )

    async def aclose(self) -> None:
        await self.link.aclose()

    async def _run(self, work: Callable[[Any], Awaitable[T]], *, timeout_s: float | None = None) -> T:
        try:
            return await self.link.run(work, timeout_s=timeout_s)
        except RedisDown as error:
            raise TierFailed(str(error)) from None


async def _unlink(client: Any, batch: list[bytes]) -> int:
    pipeline = client.pipeline(transaction=False)
    for key in batch:
        pipeline.unlink(key)
    count = sum(await pipeline.execute()) if batch else 0
    batch.clear()
    return int(count)
