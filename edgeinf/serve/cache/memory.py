"""The tier in this process: decoded entries, bounded by bytes, asked without awaiting."""

from __future__ import annotations

from collections.abc import Hashable

from edgeinf.core.clock import Clock
from edgeinf.core.eviction import LruTtl
from edgeinf.serve.cache.base import TierStats
from edgeinf.serve.cache.entry import Entry

__all__ = ["MemoryTier", "Resident"]

# What one entry costs beside its body: the objects, the map's slot, the header's texts (measured, rounded up).
_OVERHEAD = 1400
# Renderings of one entry that are kept: askers differ in little, and the rest is rendered when asked.
_SHOWN = 4


class Resident:
    """An entry in memory, and what has been made of it for its askers."""

    __slots__ = ("__weakref__", "entry", "shown")

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self.shown: dict[Hashable, bytes] = {}


class MemoryTier:
    """Holds entries themselves, so that a hit decodes nothing. Not a coroutine in sight: it cannot fail."""

    name = "memory"

    def __init__(self, clock: Clock, *, max_size: int, max_entries: int | None) -> None:
        self._clock = clock
        self._entries: LruTtl[bytes, Resident] = LruTtl(max_entries=max_entries, max_size=max_size)

    def get(self, find: bytes, now: float) -> Resident | None:
        """Return an entry that is kept, fresh or not, and make it the most recent if it is kept validly."""
        found = self._entries.get(find, now)
        if found is not None:
            return found
        kept = self._entries.peek(find)
        return None if kept is None else kept[1]

    def put(self, find: bytes, entry: Entry) -> Resident:
        """Keep an entry. Its place ends with its life; what is served stale until then is the tiers' choice."""
        now = self._clock.now()
        resident = Resident(entry)
        weight = len(entry.body) + _OVERHEAD
        self._entries.put(find, resident, now=now, ttl_s=entry.stored_at + entry.ttl_s - now, size=weight)
        return resident

    def show(self, find: bytes, resident: Resident, name: Hashable, rendering: bytes) -> None:
        """Keep a rendering beside its entry, as long as that is kept."""
        if len(resident.shown) < _SHOWN:
            resident.shown[name] = rendering
            self._entries.grow(find, 200 + (0 if rendering is resident.entry.body else len(rendering)))

    def delete(self, find: bytes) -> None:
        """Forget an entry; absent is fine."""
        self._entries.pop(find)

    def clear(self) -> int:
        """Forget everything and return how many entries that was."""
        count = len(self._entries)
        self._entries.clear()
        return count

    def scan(self) -> list[bytes]:
        """Return the find keys of all entries, oldest first."""
        return list(self._entries)

    def peek(self, find: bytes) -> Entry | None:
        """Return an entry without touching its place, or None."""
        found = self._entries.peek(find)
        return None if found is None else found[1].entry

    def stats(self) -> TierStats:
        """Return what the tier holds."""
        return TierStats(
            name=self.name,
            entries=len(self._entries),
            size_bytes=self._entries.size,
            max_size_bytes=self._entries.max_size,
            evicted=self._entries.evicted,
        )
