"""All tiers as one: near before far, nothing trusted, a failing one left out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.serve.cache.base import TierFailed, TierStats
from edgeinf.serve.cache.disk import DiskTier
from edgeinf.serve.cache.entry import encode
from edgeinf.serve.cache.memory import MemoryTier
from edgeinf.serve.cache.tiers import Tiers
from tests.serve.cache.stored import entry, key

A = key("a")


class Broken:
    """A tier that fails as long as it is told to."""

    name = "broken"

    def __init__(self) -> None:
        self.broken = True
        self.asked = 0

    async def get(self, find: bytes) -> bytes | None:
        self.asked += 1
        if self.broken:
            raise TierFailed("it is broken")
        return None

    async def put(self, items: Sequence[tuple[bytes, bytes, float]]) -> None:
        await self.get(b"")

    async def delete(self, find: bytes) -> None:
        await self.get(find)

    async def clear(self) -> int:
        await self.get(b"")
        return 0

    async def scan(self) -> list[bytes]:
        return []

    async def stats(self) -> TierStats:
        await self.get(b"")
        return TierStats(name=self.name, entries=0, size_bytes=0, max_size_bytes=None)

    async def aclose(self) -> None:
        pass


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1000.0)


def _memory(clock: FakeClock) -> MemoryTier:
    return MemoryTier(clock, max_size=2**20, max_entries=None)


@pytest.fixture
async def disk(tmp_path: Path) -> AsyncIterator[DiskTier]:
    tier = DiskTier(tmp_path, max_size=2**20)
    yield tier
    await tier.aclose()


async def test_an_entry_is_found_in_memory_at_once(clock: FakeClock) -> None:
    tiers = Tiers(clock, _memory(clock))
    tiers.put(A, entry())
    found = await tiers.get(A)
    assert found is not None
    assert found.tier == "memory"


async def test_what_the_disk_had_is_in_memory_next_time(clock: FakeClock, disk: DiskTier) -> None:
    writer = Tiers(clock, None, [disk])
    writer.put(A, entry())
    await writer.flush()
    tiers = Tiers(clock, _memory(clock), [disk])
    first, second = await tiers.get(A), await tiers.get(A)
    assert first is not None
    assert second is not None
    assert (first.tier, second.tier) == ("disk", "memory")


async def test_what_is_not_yet_written_is_found_all_the_same(clock: FakeClock, disk: DiskTier) -> None:
    tiers = Tiers(clock, None, [disk])
    tiers.put(A, entry())
    assert await tiers.get(A) is not None
    await tiers.flush()
    assert await disk.get(A.find) is not None


async def test_a_colliding_find_key_is_a_miss_and_stays(clock: FakeClock, disk: DiskTier) -> None:
    other = key("b")
    await disk.put([(A.find, encode(entry("b")), 60.0)])
    tiers = Tiers(clock, _memory(clock), [disk])
    assert await tiers.get(A) is None
    assert await disk.get(A.find) is not None
    assert entry("b").trust == other.trust


async def test_a_damaged_entry_is_a_miss_and_is_removed(clock: FakeClock, disk: DiskTier) -> None:
    raw = bytearray(encode(entry()))
    raw[-12] ^= 1
    await disk.put([(A.find, bytes(raw), 60.0)])
    tiers = Tiers(clock, _memory(clock), [disk])
    assert await tiers.get(A) is None
    assert await disk.get(A.find) is None


async def test_an_expired_entry_comes_back_only_within_the_stale_time(clock: FakeClock) -> None:
    tiers = Tiers(clock, _memory(clock), stale_s=30.0)
    tiers.put(A, entry())
    clock.advance(75)
    stale = await tiers.get(A)
    assert stale is not None
    assert not stale.entry.fresh_at(clock.now())
    clock.advance(20)
    assert await tiers.get(A) is None


async def test_a_failing_tier_is_left_out_and_tried_again(clock: FakeClock) -> None:
    broken = Broken()
    tiers = Tiers(clock, _memory(clock), [broken])
    for _ in range(10):
        assert await tiers.get(A) is None
    assert broken.asked == 1
    assert tiers.failures == {"broken": "it is broken"}
    broken.broken = False
    clock.advance(6)
    await tiers.get(A)
    assert broken.asked == 2


async def test_a_tier_that_works_again_is_no_longer_named(clock: FakeClock) -> None:
    broken = Broken()
    tiers = Tiers(clock, _memory(clock), [broken])
    tiers.put(A, entry())
    await tiers.flush()
    assert tiers.failures == {"broken": "it is broken"}
    broken.broken = False
    clock.advance(6)
    tiers.put(A, entry())
    await tiers.flush()
    assert tiers.failures == {}


async def test_a_failing_tier_costs_no_answer(clock: FakeClock) -> None:
    tiers = Tiers(clock, _memory(clock), [Broken()])
    tiers.put(A, entry())
    await tiers.flush()
    assert tiers.dropped == 1
    assert await tiers.get(A) is not None
    assert [s.name for s in await tiers.stats()] == ["memory"]


async def test_delete_and_clear_reach_every_tier(clock: FakeClock, disk: DiskTier) -> None:
    tiers = Tiers(clock, _memory(clock), [disk])
    for name in ("a", "b"):
        tiers.put(key(name), entry(name))
    await tiers.flush()
    await tiers.delete(A.find)
    assert await tiers.get(A) is None
    assert await tiers.clear() == 1
    assert await disk.scan() == []
