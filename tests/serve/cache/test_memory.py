"""The tier in memory: bounded, decoded, with renderings beside."""

from __future__ import annotations

from edgeinf.core.clock import FakeClock
from edgeinf.serve.cache.memory import MemoryTier
from tests.serve.cache.stored import entry, key


def _tier(**bounds: int | None) -> tuple[MemoryTier, FakeClock]:
    clock = FakeClock(1000.0)
    return MemoryTier(clock, **{"max_size": 1_000_000, "max_entries": None, **bounds}), clock  # type: ignore[arg-type]


def test_an_entry_is_returned_itself() -> None:
    tier, clock = _tier()
    made = entry()
    tier.put(key("a").find, made)
    resident = tier.get(key("a").find, clock.now())
    assert resident is not None
    assert resident.entry is made


def test_an_expired_entry_is_still_there_for_whoever_takes_stale_ones() -> None:
    tier, clock = _tier()
    tier.put(key("a").find, entry())
    clock.advance(61)
    assert tier.get(key("a").find, clock.now()) is not None


def test_bytes_are_bounded_whatever_comes() -> None:
    tier, _ = _tier(max_size=50_000)
    for number in range(500):
        tier.put(key(str(number)).find, entry(str(number), body=b"x" * 2000))
    stats = tier.stats()
    assert stats.size_bytes <= 50_000
    assert 0 < stats.entries < 25
    assert stats.evicted == 500 - stats.entries


def test_the_least_recently_used_goes_first() -> None:
    tier, clock = _tier(max_entries=2)
    for name in ("a", "b"):
        tier.put(key(name).find, entry(name))
    tier.get(key("a").find, clock.now())
    tier.put(key("c").find, entry("c"))
    assert tier.scan() == [key("a").find, key("c").find]


def test_renderings_count_towards_the_limit() -> None:
    tier, _ = _tier(max_size=10_000)
    find = key("a").find
    resident = tier.put(find, entry())
    before = tier.stats().size_bytes
    tier.show(find, resident, "stream", b"y" * 3000)
    assert resident.shown["stream"] == b"y" * 3000
    assert tier.stats().size_bytes >= before + 3000


def test_few_renderings_of_one_entry_are_kept() -> None:
    tier, _ = _tier()
    find = key("a").find
    resident = tier.put(find, entry())
    for number in range(50):
        tier.show(find, resident, number, b"z")
    assert len(resident.shown) <= 4


def test_a_rendering_that_does_not_fit_takes_its_entry_along() -> None:
    tier, _ = _tier(max_size=5_000)
    find = key("a").find
    tier.show(find, tier.put(find, entry()), "big", b"y" * 10_000)
    assert tier.stats().size_bytes <= 5_000


def test_delete_and_clear_forget() -> None:
    tier, clock = _tier()
    for name in ("a", "b", "c"):
        tier.put(key(name).find, entry(name))
    tier.delete(key("a").find)
    tier.delete(key("a").find)
    assert tier.get(key("a").find, clock.now()) is None
    assert tier.peek(key("b").find) is not None
    assert tier.clear() == 2
    assert tier.scan() == []
