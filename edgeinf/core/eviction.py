"""Which answers a cache of limited size keeps: least recently used, with a time to live.

The live memory tier and the simulator of ``analyze`` run this very code, so what one predicts the other does. The
rule: an entry is valid while ``now - stored < ttl``; an expired entry that is asked for is a miss and is stored again
as the most recent; until it is touched or evicted it keeps its place.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

__all__ = ["LruTtl"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruTtl(Generic[K, V]):
    """A bounded map. ``max_size`` counts what the caller says each entry weighs; ``None`` is unbounded."""

    def __init__(self, *, max_entries: int | None = None, max_size: int | None = None) -> None:
        self._entries: OrderedDict[K, tuple[float, int, V]] = OrderedDict()
        self.max_entries = max_entries
        self.max_size = max_size
        self.size = 0
        self.evicted = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def get(self, key: K, now: float) -> V | None:
        """Return a valid entry and make it the most recent, else None."""
        found = self._entries.get(key)
        if found is None or now >= found[0]:
            return None
        self._entries.move_to_end(key)
        return found[2]

    def peek(self, key: K) -> tuple[float, V] | None:
        """Return (expires at, value) of an entry, expired or not, without touching its place."""
        found = self._entries.get(key)
        return None if found is None else (found[0], found[2])

    def put(self, key: K, value: V, *, now: float, ttl_s: float, size: int = 1) -> list[tuple[K, V]]:
        """Store an entry as the most recent and return what had to go for it, oldest first.

        What is heavier than the whole cache is not stored, and comes back as evicted itself.
        """
        self.pop(key)
        if (self.max_size is not None and size > self.max_size) or self.max_entries == 0:
            return [(key, value)]
        self._entries[key] = (now + ttl_s, size, value)
        self.size += size
        return self._shrink()

    def grow(self, key: K, extra: int) -> list[tuple[K, V]]:
        """Let an entry weigh ``extra`` more and return what had to go for it; it may be the entry itself."""
        found = self._entries.get(key)
        if found is None:
            return []
        self._entries[key] = (found[0], found[1] + extra, found[2])
        self.size += extra
        return self._shrink()

    def _shrink(self) -> list[tuple[K, V]]:
        gone = []
        while (self.max_entries is not None and len(self._entries) > self.max_entries) or (
            self.max_size is not None and self.size > self.max_size
        ):
            oldest, (_, weight, old) = self._entries.popitem(last=False)
            self.size -= weight
            self.evicted += 1
            gone.append((oldest, old))
        return gone

    def pop(self, key: K) -> V | None:
        """Remove an entry and return it."""
        found = self._entries.pop(key, None)
        if found is None:
            return None
        self.size -= found[1]
        return found[2]

    def clear(self) -> None:
        """Remove everything."""
        self._entries.clear()
        self.size = 0
