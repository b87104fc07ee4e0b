"""The tier in this process: decoded entries, bounded by bytes, asked without awaiting."""

from __future__ import annotations

from edgeinf.core.clock import Clock
from edgeinf.core.eviction import LruTtl
from edgeinf.serve.cache.base import TierStats
from edgeinf.serve.cache.entry import Entry

__all__ = ["MemoryTier"]

# What one entry costs beside its body: the objects, the map's slot, the header's texts (measured, rounded up).
_OVERHEAD = 1400


class MemoryTier:
    """Holds entries themselves, so that a hit decodes nothing. Not a coroutine in sight: it cannot fail."""

    name = "memory"

    def __init__(self, clock: Clock, *, max_size: int, max_entries: int | None) -> None:
        self._clock = clock
        self._entries: LruTtl[bytes, Entry] = LruTtl(max_entries=max_entries, max_size=max_size)

    def get(self, find: bytes) -> Entry | None:
        """Return an entry that is kept, fresh or not, and make it the most recent if it is kept validly."""
        found = self._entries.get(find, self._clock.now())
        if found is not None:
            return found
        kept = self._entries.peek(find)
        return None if kept is None else kept[1]

    def peek(self, find: bytes) -> Entry | None:
        """Return an entry, fresh or not, without making it more recent."""
        kept = self._entries.peek(find)
        return None if kept is None else kept[1]

    def put(self, find: bytes, entry: Entry) -> None:
        """Keep an entry. Its place ends with its life; what is served stale until then is the tiers' choice."""
        now = self._clock.now()
        weight = len(entry.body) + _OVERHEAD
        left = entry.stored_at + entry.ttl_s - now
        self._entries.put(find, entry, now=now, ttl_s=left, size=weight)

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

    def stats(self) -> TierStats:
        """Return what the tier holds."""
        return TierStats(
            name=self.name,
            entries=len(self._entries),
            size_bytes=self._entries.size,
            max_size_bytes=self._entries.max_size,
            evicted=self._entries.evicted,
        )
