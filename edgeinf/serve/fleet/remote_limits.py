"""A limiter whose counters are elsewhere: asked over a link to this host's hub."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from edgeinf.core.clock import Clock
from edgeinf.core.eviction import LruTtl
from edgeinf.serve.fleet.link import Link, LinkDown
from edgeinf.serve.limits.base import Charge, Level, Limiter, Taken

__all__ = ["HubLimiter", "Remembered", "take_safely"]

_Name = tuple[str, str, str]


class Remembered:
    """How full counters were when they were last heard of; they drain as time passes."""

    def __init__(self, clock: Clock, most: int = 10_000) -> None:
        self._clock = clock
        self._levels: LruTtl[_Name, tuple[Level, float]] = LruTtl(max_entries=most)

    def learn(self, charges: Sequence[Charge], taken: Taken) -> None:
        """Remember the levels of a take."""
        now = self._clock.monotonic()
        for charge, level in zip(charges, taken.levels, strict=True):
            name = (charge.limit, charge.kind, charge.subject)
            self._levels.put(name, (level, now), now=now, ttl_s=max(1.0, charge.period_s))

    def spare(self, charge: Charge) -> float:
        """Return the free share of a counter; 0 of one that was never heard of, so that nobody relies on it."""
        now = self._clock.monotonic()
        known = self._levels.get((charge.limit, charge.kind, charge.subject), now)
        if known is None:
            return 0.0
        level, at = known
        used = level.used
        if charge.kind in ("requests", "tokens") and level.reset_s > 0:
            used *= max(0.0, 1.0 - (now - at) / level.reset_s)
        return max(0.0, 1.0 - used / charge.capacity)


async def take_safely(taking: Awaitable[Taken], give_back: Callable[[], None]) -> Taken:
    """Await a take that happens elsewhere; where the caller is cancelled meanwhile, what was taken is given back."""
    task = asyncio.ensure_future(taking)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(lambda done: _undo(done, give_back))
        raise


def _undo(done: asyncio.Future[Taken], give_back: Callable[[], None]) -> None:
    if not done.cancelled() and done.exception() is None and done.result().refused is None:
        give_back()


class HubLimiter:
    """One worker's limiter: every counter is the host's. Without the hub the worker counts for itself."""

    def __init__(self, link: Link, clock: Clock, alone: Limiter) -> None:
        self._link = link
        self._levels = Remembered(clock)
        self._alone = alone
        self._own: set[tuple[str, Charge]] = set()  # taken from ``alone``, to be settled there

    async def take(self, call_id: str, charges: Sequence[Charge]) -> Taken:
        """Take every charge or none of them, as the hub says."""
        try:
            taken = await take_safely(
                self._link.ask("take", (call_id, charges), Taken),
                lambda: self._give_back(call_id, charges),
            )
        except LinkDown:
            taken = await self._alone.take(call_id, charges)
            if taken.refused is None:
                self._own.update((call_id, charge) for charge in charges)
            return taken
        self._levels.learn(charges, taken)
        return taken

    def _give_back(self, call_id: str, charges: Sequence[Charge]) -> None:
        for charge in charges:
            self.settle(call_id, charge, 0.0)

    def settle(self, call_id: str, charge: Charge, actual: float) -> None:
        """Tell the hub what was used."""
        if (call_id, charge) in self._own:
            self._own.discard((call_id, charge))
            self._alone.settle(call_id, charge, actual)
        else:
            self._link.tell("settle", (call_id, charge, actual))

    def spare(self, charge: Charge) -> float:
        """Return the free share of a counter, as last heard."""
        return self._levels.spare(charge)

    async def aclose(self) -> None:
        """Nothing is pending: what was told has left this process."""
