"""The counters of one process. Nothing awaits between a check and its count, so no two calls can race past a limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from edgeinf.core.clock import Clock
from edgeinf.serve.limits import budget, gcra
from edgeinf.serve.limits.base import Charge, Level, Taken

__all__ = ["LocalLimiter"]

_Name = tuple[str, str, str]

# Counters that are empty again are dropped when their number reaches this, then twice what was left.
_SWEEP_AT = 4096
# Beyond this many counters in use a new one is refused: forgetting one to make room would lift its limit.
_MOST = 1_000_000
_SWEEP_EVERY_S = 1.0


class LocalLimiter:
    """A Limiter in memory. Counters outlive a reload; a counter that is empty again costs nothing to forget."""

    def __init__(self, clock: Clock, *, most: int = _MOST) -> None:
        self._clock = clock
        self._most = most
        self._arrivals: dict[_Name, float] = {}
        self._slots: dict[_Name, int] = {}
        self._purses: dict[_Name, tuple[budget.Purse, float]] = {}
        self._sweep_at = _SWEEP_AT
        self._swept_at = -_SWEEP_EVERY_S

    async def take(self, call_id: str, charges: Sequence[Charge]) -> Taken:
        """Take every charge or none."""
        return self.take_now(charges)

    def take_now(self, charges: Sequence[Charge]) -> Taken:
        """Take every charge or none, without awaiting."""
        tick, now = self._clock.monotonic(), self._clock.now()
        names = [(charge.limit, charge.kind, charge.subject) for charge in charges]
        full = len(self) + len(charges) > self._sweep_at and not self._make_room(tick, now)
        for number, charge in enumerate(charges):
            wait_s = self._wait_s(names[number], charge, tick, now)
            if full and not wait_s and not self._knows(names[number]):
                wait_s = 1.0
            if wait_s:
                never = charge.cost > charge.capacity and charge.kind != "budget"
                levels = tuple(self._level(n, c, tick, now) for n, c in zip(names, charges, strict=True))
                return Taken(levels=levels, refused=number, retry_s=None if never else wait_s)
        return Taken(levels=tuple([self._count(n, c, tick, now) for n, c in zip(names, charges, strict=True)]))

    def settle(self, call_id: str, charge: Charge, actual: float) -> None:
        """Replace what was taken by what was used."""
        name = (charge.limit, charge.kind, charge.subject)
        if charge.kind == "concurrency":
            left = self._slots.get(name, 0) - 1
            if left > 0:
                self._slots[name] = left
            else:
                self._slots.pop(name, None)
        elif charge.kind == "budget":
            now = self._clock.now()
            purse = budget.turned(self._purse(name), now, charge.period_s)
            purse.spent = max(0.0, purse.spent + actual - charge.cost)
            self._purses[name] = purse, charge.period_s
        elif actual != charge.cost:
            tick = self._clock.monotonic()
            tat = max(self._arrivals.get(name, tick), tick) if actual > charge.cost else self._arrivals.get(name, tick)
            self._arrivals[name] = gcra.give_back(tat, actual - charge.cost, charge.capacity, charge.period_s)

    def spare(self, charge: Charge) -> float:
        """Return the free share of a counter."""
        name = (charge.limit, charge.kind, charge.subject)
        level = self._level(name, charge, self._clock.monotonic(), self._clock.now())
        return max(0.0, 1.0 - level.used / charge.capacity)

    async def aclose(self) -> None:
        """Nothing is pending."""

    def __len__(self) -> int:
        return len(self._arrivals) + len(self._slots) + len(self._purses)

    # --- what a restart must not forget ---

    def purses(self) -> dict[str, Any]:
        """Return the budgets of the present periods, as plain values to keep."""
        now = self._clock.now()
        return {
            msgspec.json.encode(name).decode(): [purse.period, purse.spent, period_s]
            for name, (purse, period_s) in self._purses.items()
            if purse.period == budget.period_of(now, period_s) and purse.spent > 0
        }

    def restore(self, purses: dict[str, Any]) -> None:
        """Take back budgets that ``purses`` returned. Raise ValueError, TypeError or KeyError on anything else."""
        for text, (period, spent, period_s) in purses.items():
            limit, kind, subject = msgspec.json.decode(text, type=tuple[str, str, str])
            self._purses[limit, kind, subject] = budget.Purse(int(period), float(spent)), float(period_s)

    # --- one counter ---

    def _purse(self, name: _Name) -> budget.Purse | None:
        found = self._purses.get(name)
        return None if found is None else found[0]

    def _wait_s(self, name: _Name, charge: Charge, tick: float, now: float) -> float:
        """Return 0 where the charge fits, else when it might."""
        if charge.kind == "concurrency":
            return 0.0 if self._slots.get(name, 0) + charge.cost <= charge.capacity else 1.0
        if charge.kind == "budget":
            purse = budget.turned(self._purse(name), now, charge.period_s)
            if budget.fits(purse, charge.cost, charge.capacity):
                return 0.0
            return budget.ends_in_s(now, charge.period_s)
        return gcra.fits(self._arrivals.get(name, tick), tick, charge.cost, charge.capacity, charge.period_s)

    def _count(self, name: _Name, charge: Charge, tick: float, now: float) -> Level:
        if charge.kind == "concurrency":
            taken = self._slots[name] = self._slots.get(name, 0) + 1
            return Level(float(taken), 0.0)
        if charge.kind == "budget":
            purse = budget.turned(self._purse(name), now, charge.period_s)
            purse.spent += charge.cost
            self._purses[name] = purse, charge.period_s
            return Level(purse.spent, budget.ends_in_s(now, charge.period_s))
        tat = gcra.arrival(self._arrivals.get(name, tick), tick, charge.cost, charge.capacity, charge.period_s)
        self._arrivals[name] = tat
        return Level(gcra.used(tat, tick, charge.capacity, charge.period_s), gcra.reset_s(tat, tick))

    def _level(self, name: _Name, charge: Charge, tick: float, now: float) -> Level:
        if charge.kind == "concurrency":
            return Level(float(self._slots.get(name, 0)), 0.0)
        if charge.kind == "budget":
            spent = budget.turned(self._purse(name), now, charge.period_s).spent
            return Level(spent, budget.ends_in_s(now, charge.period_s))
        tat = self._arrivals.get(name, tick)
        return Level(gcra.used(tat, tick, charge.capacity, charge.period_s), gcra.reset_s(tat, tick))

    def _knows(self, name: _Name) -> bool:
        return name in self._arrivals or name in self._slots or name in self._purses

    def _make_room(self, tick: float, now: float) -> bool:
        """Forget counters that are empty again; False where there are still too many, which are all in use."""
        if tick - self._swept_at >= _SWEEP_EVERY_S:
            self._swept_at = tick
            self._arrivals = {name: tat for name, tat in self._arrivals.items() if tat > tick}
            self._purses = {
                name: (purse, period_s)
                for name, (purse, period_s) in self._purses.items()
                if purse.period == budget.period_of(now, period_s)
            }
            self._sweep_at = max(_SWEEP_AT, min(2 * len(self), self._most))
        return len(self) < self._most
