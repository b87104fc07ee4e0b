"""All tiers as one: ask the near ones first, promote what a far one had, leave out one that fails.

Nothing a tier returns is trusted: it must decode, prove itself against the key, and be fresh (or stale where the
caller allows it). What does not is removed.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from collections.abc import Sequence

import msgspec

from edgeinf.core.clock import Clock
from edgeinf.core.key import Key
from edgeinf.serve.cache import entry as entries
from edgeinf.serve.cache.base import Tier, TierFailed, TierStats
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.cache.memory import MemoryTier, Resident

__all__ = ["Found", "Tiers"]

_log = logging.getLogger("edgeinf.cache")

# How long a failed tier is left out before it is tried again.
_REST_S = 5.0
# Far tiers are written this long after the first entry came, at most so many entries at a time: the larger a batch,
# the less an entry costs (on disk 47 µs each in tens, 32 in 25s, 24 in hundreds). Bytes beyond the limit that wait
# are not kept there.
_BATCH_S = 0.05
_BATCH = 256
_PENDING_LIMIT = 64 * 2**20


class Found(msgspec.Struct, frozen=True):
    """An entry and the tier that had it; ``resident`` where it is in memory now."""

    entry: Entry
    tier: str
    resident: Resident | None = None


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
        self._pending: dict[bytes, Entry] = {}  # what the far tiers have not got yet
        self._pending_bytes = 0
        self._writer: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()  # no more will come
        self.failures: dict[str, str] = {}
        self.dropped = 0

    def near(self, key: Key, now: float) -> Found | None:
        """Return what this process has for a key, fresh or stale, without awaiting."""
        resident = self.memory.get(key.find, now) if self.memory is not None else None
        entry = resident.entry if resident is not None else self._pending.get(key.find)
        if entry is None or entry.trust != key.trust:
            return None  # or another question whose find key collides: a miss, never its answer
        if not self._kept(entry, now):
            if self.memory is not None:
                self.memory.delete(key.find)
            return None
        return Found(entry, "memory", resident)

    async def get(self, key: Key) -> Found | None:
        """Return an entry, fresh or stale, from the nearest tier that has it."""
        now = self._clock.now()
        found = self.near(key, now)
        if found is not None and found.entry.fresh_at(now):
            return found
        for tier in self.far:
            if self._rests(tier):
                continue
            try:
                raw = await tier.get(key.find)
                if raw is None:
                    continue
                self._note_success(tier)
                entry = entries.decode(raw)
                if entry is None or (entry.trust == key.trust and not self._kept(entry, now)):
                    await tier.delete(key.find)
                    continue
            except TierFailed as error:
                self.note_failure(tier, error)
                continue
            if entry.trust != key.trust:
                continue
            if entry.fresh_at(now):
                resident = self.memory.put(key.find, entry) if self.memory is not None else None
                return Found(entry, tier.name, resident)
            found = found or Found(entry, tier.name)
        return found

    def put(self, key: Key, entry: Entry, *, near: bool = True) -> None:
        """Keep an entry in every tier (not in memory without ``near``); the far ones get it in batches, behind the
        caller's back."""
        if near and self.memory is not None:
            self.memory.put(key.find, entry)
        if not self.far:
            return
        if self._pending_bytes > _PENDING_LIMIT:
            self.dropped += 1
            return
        self._pending[key.find] = entry
        self._pending_bytes += len(entry.body)
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._write())

    async def _write(self) -> None:
        """Write what is pending until nothing is, a batch at a time."""
        try:
            while self._pending:
                if len(self._pending) < _BATCH:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._hurry.wait(), _BATCH_S)
                await self._write_batch(dict(itertools.islice(self._pending.items(), _BATCH)))
        finally:
            self._writer = None

    async def _write_batch(self, batch: dict[bytes, Entry]) -> None:
        now = self._clock.now()
        items = [
            (find, entries.encode(entry), entry.stored_at + entry.ttl_s + self._stale_s - now)
            for find, entry in batch.items()
        ]
        try:
            for tier in self.far:
                if self._rests(tier):
                    continue
                try:
                    await tier.put(items)
                    self._note_success(tier)
                except TierFailed as error:
                    self.dropped += len(items)
                    self.note_failure(tier, error)
        finally:
            for find, entry in batch.items():
                if self._pending.get(find) is entry:
                    del self._pending[find]
            self._pending_bytes = sum(len(entry.body) for entry in self._pending.values())

    async def delete(self, find: bytes) -> None:
        """Forget an entry in every tier."""
        self._pending.pop(find, None)
        if self.memory is not None:
            self.memory.delete(find)
        for tier in self.far:
            try:
                await tier.delete(find)
            except TierFailed as error:
                self.note_failure(tier, error)

    async def clear(self) -> int:
        """Forget everything and return the largest number of entries that one tier had."""
        self._pending.clear()
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

    async def open(self) -> None:
        """Open every tier, so that no request waits for it and one that fails is said at once."""
        await self.stats()

    async def flush(self) -> None:
        """Wait until everything that was put is written."""
        while self._writer is not None:
            await asyncio.wait({self._writer})

    async def aclose(self) -> None:
        """Write what is pending and close every tier."""
        self._hurry.set()
        await self.flush()
        for tier in self.far:
            await tier.aclose()

    def _kept(self, entry: Entry, now: float) -> bool:
        return now - entry.stored_at < entry.ttl_s + self._stale_s

    def _rests(self, tier: Tier) -> bool:
        until = self._resting.get(tier.name)
        if until is None:
            return False
        if self._clock.monotonic() < until:
            return True
        del self._resting[tier.name]
        return False

    def _note_success(self, tier: Tier) -> None:
        if self.failures.pop(tier.name, None) is not None:
            _log.warning("the %s tier works again", tier.name)

    def note_failure(self, tier: Tier, error: TierFailed) -> None:
        """Leave a tier out for a while, and say so once."""
        if tier.name not in self.failures:
            _log.warning("%s; the %s tier is left out and tried again every %g s", error, tier.name, _REST_S)
        self.failures[tier.name] = str(error)
        self._resting[tier.name] = self._clock.monotonic() + _REST_S
