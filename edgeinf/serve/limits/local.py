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
        self._index()
        self._sweep_at = _SWEEP_AT
        self._swept_at = -_SWEEP_EVERY_S

    async def take(self, call_id: str, charges: Sequence[Charge]) -> Taken:
        """Take every charge or none."""
        return self.take_now(charges)

    def take_now(self, charges: Sequence[Charge]) -> Taken:
        """Take every charge or none, without awaiting."""
        tick, now = self._clock.monotonic(), self._clock.now()
        held = len(self._arrivals) + len(self._slots) + len(self._purses) + len(charges)
        full = held > self._sweep_at and not self._make_room(tick, now)
        steps = [self._step(charge, tick, now) for charge in charges]
        for number, (charge, (name, _, _, wait_s)) in enumerate(zip(charges, steps, strict=True)):
            if full and not wait_s and not self._knows(name):
                wait_s = 1.0
            if wait_s:
                never = charge.cost > charge.capacity and charge.kind != "budget"
                levels = tuple([self._level(step[0], c, tick, now) for step, c in zip(steps, charges, strict=True)])
                return Taken(levels=levels, refused=number, retry_s=None if never else wait_s)
        for name, after, _, _ in steps:
            self._tables[name[1]][name] = after
        return Taken(levels=tuple([level for _, _, level, _ in steps]))

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

    def _step(self, charge: Charge, tick: float, now: float) -> tuple[_Name, Any, Level, float]:
        """Return a counter's name, what it is after the charge, how full that is, and when it fits (0: now)."""
        kind, capacity, period_s = charge.kind, charge.capacity, charge.period_s
        name = (charge.limit, kind, charge.subject)
        if kind == "concurrency":
            taken = self._slots.get(name, 0) + 1
            return name, taken, Level(float(taken), 0.0), 1.0 if taken > capacity else 0.0
        if kind == "budget":
            purse = budget.turned(self._purse(name), now, period_s)
            left_s = budget.ends_in_s(now, period_s)
            spent = budget.Purse(purse.period, purse.spent + charge.cost)
            wait_s = 0.0 if budget.fits(purse, charge.cost, capacity) else left_s
            return name, (spent, period_s), Level(spent.spent, left_s), wait_s
        tat, wait_s, used, reset_s = gcra.step(self._arrivals.get(name, tick), tick, charge.cost, capacity, period_s)
        return name, tat, Level(used, reset_s), wait_s

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

    def _index(self) -> None:
        self._tables: dict[str, dict[_Name, Any]] = {
            "requests": self._arrivals,
            "tokens": self._arrivals,
            "concurrency": self._slots,
            "budget": self._purses,
        }

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
            self._index()
            self._sweep_at = max(_SWEEP_AT, min(2 * len(self), self._most))
        return len(self) < self._most
