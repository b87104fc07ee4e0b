"""All tiers as one: ask the near ones first, promote what a far one had, leave out one that fails.

Nothing a tier returns is trusted: it must decode, prove itself against the key, and be fresh (or stale where the
caller allows it). What does not is removed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import msgspec

from edgeinf.core.clock import Clock
from edgeinf.core.key import Key
from edgeinf.serve.cache import entry as entries
from edgeinf.serve.cache.base import Tier, TierFailed, TierStats
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.cache.memory import MemoryTier

__all__ = ["Found", "Tiers"]

_log = logging.getLogger("edgeinf.cache")

# How long a failed tier is left out before it is tried again.
_REST_S = 5.0


class Found(msgspec.Struct, frozen=True):
    """An entry and the tier that had it."""

    entry: Entry
    tier: str


class Tiers:
    """The cache. ``stale_s`` is how long past its life an entry is kept for when origins fail."""

    def __init__(
        self, clock: Clock, memory: MemoryTier | None, far: Sequence[Tier] = (), *, stale_s: float = 0.0
    ) -> None:
        self._clock = clock
        self.memory = memory
        self.far = list(far)
        self._stale_s = stale_s
        self._resting: dict[str, float] = {}
        self._writes: set[asyncio.Task[None]] = set()
        self.failures: dict[str, str] = {}
        self.dropped = 0

    def near(self, key: Key) -> Entry | None:
        """Return what the memory tier has for a key, fresh or stale, without awaiting."""
        if self.memory is None:
            return None
        found = self.memory.get(key.find)
        if found is None:
            return None
        if found.trust != key.trust:
            return None  # another question whose find key collides: a miss, never its answer
        if not self._kept(found):
            self.memory.delete(key.find)
            return None
        return found

    async def get(self, key: Key) -> Found | None:
        """Return an entry, fresh or stale, from the nearest tier that has it."""
        found = self.near(key)
        if found is not None and found.fresh_at(self._clock.now()):
            return Found(found, "memory")
        stale = Found(found, "memory") if found is not None else None
        for tier in self.far:
            if self._rests(tier):
                continue
            try:
                raw = await tier.get(key.find)
                if raw is None:
                    continue
                entry = entries.decode(raw)
                if entry is None or (entry.trust == key.trust and not self._kept(entry)):
                    await tier.delete(key.find)
                    continue
            except TierFailed as error:
                self.note_failure(tier, error)
                continue
            if entry.trust != key.trust:
                continue
            if entry.fresh_at(self._clock.now()):
                if self.memory is not None:
                    self.memory.put(key.find, entry)
                return Found(entry, tier.name)
            stale = stale or Found(entry, tier.name)
        return stale

    def put(self, key: Key, entry: Entry) -> None:
        """Keep an entry in every tier; the far ones are written behind the caller's back."""
        if self.memory is not None:
            self.memory.put(key.find, entry)
        usable = [tier for tier in self.far if not self._rests(tier)]
        if usable:
            task = asyncio.get_running_loop().create_task(self._write(usable, key.find, entry))
            self._writes.add(task)
            task.add_done_callback(self._writes.discard)

    async def _write(self, tiers: list[Tier], find: bytes, entry: Entry) -> None:
        raw = entries.encode(entry)
        keep_s = entry.stored_at + entry.ttl_s + self._stale_s - self._clock.now()
        for tier in tiers:
            try:
                await tier.put(find, raw, keep_s)
            except TierFailed as error:
                self.dropped += 1
                self.note_failure(tier, error)

    async def delete(self, find: bytes) -> None:
        """Forget an entry in every tier."""
        if self.memory is not None:
            self.memory.delete(find)
        for tier in self.far:
            try:
                await tier.delete(find)
            except TierFailed as error:
                self.note_failure(tier, error)

    async def clear(self) -> int:
        """Forget everything and return the largest number of entries that one tier had."""
        counts = [self.memory.clear()] if self.memory is not None else []
        for tier in self.far:
            try:
                counts.append(await tier.clear())
            except TierFailed as error:
                self.note_failure(tier, error)
        return max(counts, default=0)

    async def stats(self) -> list[TierStats]:
        """Return what each tier holds; one that fails is left out and named in ``failures``."""
        found = [self.memory.stats()] if self.memory is not None else []
        for tier in self.far:
            try:
                found.append(await tier.stats())
            except TierFailed as error:
                self.note_failure(tier, error)
        return found

    async def flush(self) -> None:
        """Wait until everything that was put is written."""
        while self._writes:
            await asyncio.gather(*self._writes, return_exceptions=True)

    async def aclose(self) -> None:
        """Write what is pending and close every tier."""
        await self.flush()
        for tier in self.far:
            await tier.aclose()

    def _kept(self, entry: Entry) -> bool:
        return self._clock.now() - entry.stored_at < entry.ttl_s + self._stale_s

    def _rests(self, tier: Tier) -> bool:
        until = self._resting.get(tier.name)
        if until is None:
            return False
        if self._clock.monotonic() < until:
            return True
        del self._resting[tier.name]
        return False

    def note_failure(self, tier: Tier, error: TierFailed) -> None:
        """Leave a tier out for a while, and say so once."""
        if tier.name not in self.failures:
            _log.warning("%s; the %s tier is left out and tried again every %g s", error, tier.name, _REST_S)
        self.failures[tier.name] = str(error)
        self._resting[tier.name] = self._clock.monotonic() + _REST_S
