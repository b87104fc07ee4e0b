"""Which requests would have hit: time to live and least-recently-used replacement, for a whole log at once.

The rules are those of ``edgeinf.core.eviction``: an entry is stored when its answer is complete and valid while
``t - stored < ttl``; an expired entry that is found is a miss and is stored again as the most recent. So the order of
use does not depend on times, and an entry is gone exactly when its stack distance reaches the capacity. What arrives
while the first answer is still running is coalesced with it and counted apart.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from edgeinf.analyze.dense import Ids

__all__ = ["Accesses", "Lookups", "Outcome", "Simulation", "grouped", "simulate"]

_STEPS = 200

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


class Lookups(msgspec.Struct, frozen=True):
    """All look-ups of one level in order of time. ``at`` and ``running_s`` are None where the log has no times."""

    ids: Ids
    storable: Mask
    at: Floats | None = None
    running_s: npt.NDArray[np.float32] | None = None

    def grouped(self, chosen: Any = slice(None)) -> Accesses:
        """Prepare some of them for simulations."""
        at = None if self.at is None else self.at[chosen]
        running = None if self.running_s is None else self.running_s[chosen]
        return grouped(self.ids[chosen], self.storable[chosen], at, running)


class Accesses(msgspec.Struct, frozen=True):
    """Look-ups, grouped by id."""

    ids: Ids
    storable: Mask
    at: Floats | None
    running_s: npt.NDArray[np.float32] | None
    order: npt.NDArray[np.int32]  # by id, then time
    begins: Mask  # in that order: the first access of each id


class Outcome(msgspec.Struct, frozen=True):
    """Per access: found, or arrived while the same question was being answered."""

    hit: Mask
    coalesced: Mask


def grouped(
    ids: Ids, storable: Mask, at: Floats | None = None, running_s: npt.NDArray[np.float32] | None = None
) -> Accesses:
    """Prepare accesses for any number of simulations."""
    order = np.argsort(ids, kind="stable").astype(np.int32)
    begins = np.empty(len(ids), bool)
    begins[:1] = True
    begins[1:] = ids[order[1:]] != ids[order[:-1]]
    return Accesses(ids, storable, at, running_s, order, begins)


def simulate(
    accesses: Accesses,
    ttl_s: float | Floats = float("inf"),
    *,
    distances: npt.NDArray[np.int32] | None = None,
    capacity: int | None = None,
) -> Outcome:
    """Return what hits. ``ttl_s`` is one figure or one per id; ``distances`` are needed with a capacity."""
    return Simulation(accesses, ttl_s).outcome(distances, capacity)


class Simulation:
    """Accesses under one time to live, to be run with any number of capacities.

    Inside, accesses stand by id and then time. A walk goes through the storable ones: from each that stores an answer
    to the first of its id after that answer has ended.
    """

    def __init__(self, accesses: Accesses, ttl_s: float | Floats = float("inf")) -> None:
        self._accesses = accesses
        order = accesses.order
        n = len(order)
        timed = accesses.at is not None
        self._t = accesses.at[order] if accesses.at is not None else np.zeros(n)
        running = None if accesses.running_s is None else accesses.running_s[order]
        self._done = self._t if running is None or not timed else self._t + running
        life: Any = ttl_s[accesses.ids[order]] if isinstance(ttl_s, np.ndarray) else ttl_s
        self._ends = self._done + life if timed else np.full(n, np.inf)
        first = np.where(accesses.begins, np.arange(n, dtype=np.int32), np.int32(0))
        self._first = np.maximum.accumulate(first, out=first)
        places = np.flatnonzero(accesses.storable[order]).astype(np.int32)
        self._places = places
        self._heads = np.empty(len(places), bool)
        self._heads[:1] = True
        self._heads[1:] = self._first[places[1:]] != self._first[places[:-1]]
        starts = np.flatnonzero(self._heads).astype(np.int32)
        bounds = np.append(starts, np.int32(len(places)))
        self._group_end = np.repeat(bounds[1:], np.diff(bounds))
        self._following = _first_at_or_after(self._t[places], self._ends[places], self._group_end)

    def outcome(self, distances: npt.NDArray[np.int32] | None = None, capacity: int | None = None) -> Outcome:
        """Return what becomes of each access; ``distances`` are needed with a capacity."""
        hit, coalesced = np.zeros(len(self._t), bool), np.zeros(len(self._t), bool)
        order = self._accesses.order
        hit[order], coalesced[order] = self._found(distances, capacity)
        return Outcome(hit, coalesced)

    def hits(self, distances: npt.NDArray[np.int32] | None = None, capacity: int | None = None) -> int:
        """Return how many accesses hit."""
        return int(np.count_nonzero(self._found(distances, capacity)[0]))

    def _found(self, distances: npt.NDArray[np.int32] | None, capacity: int | None) -> tuple[Mask, Mask]:
        """Return, in order of id and time, which accesses hit and which are coalesced."""
        forced = None
        if capacity is not None and distances is not None:
            d = distances[self._accesses.order]
            forced = (d < 0) | (d >= capacity)
        stores = self._stores(forced)
        n = len(self._t)
        latest = np.where(stores, np.arange(n, dtype=np.int32), np.int32(-1))
        np.maximum.accumulate(latest, out=latest)
        reused = (latest >= self._first) & ~stores
        if forced is not None:
            reused &= ~forced
        at_latest = np.maximum(latest, 0)
        running = reused & (self._t < self._done[at_latest])
        return reused & ~running & (self._t < self._ends[at_latest]), running

    def _stores(self, forced: Mask | None) -> Mask:
        """Return which accesses store an answer: each id's first, each after the last has ended, and with a capacity
        each after an eviction."""
        stores = np.zeros(len(self._t), bool)
        m = len(self._places)
        if not m:
            return stores
        starts, limit = self._heads, self._group_end
        if forced is not None:
            evicted = forced[self._places]
            starts = starts | evicted
            upcoming = np.where(evicted, np.arange(m, dtype=np.int32), np.int32(m))
            upcoming = np.minimum.accumulate(upcoming[::-1])[::-1]
            limit = np.minimum(limit, np.append(upcoming[1:], np.int32(m)))
        # A place past the limit ends the walk; m is the place where all walks rest.
        step = np.append(np.where(self._following < limit, self._following, np.int32(m)), np.int32(m))
        stores[self._places[np.flatnonzero(_reached(starts, step))]] = True
        return stores


def _reached(starts: Mask, step: npt.NDArray[np.int32]) -> Mask:
    """Return all places on the walks from ``starts``. Most are short and gone step by step; what is left is followed
    for all at once by doubling the steps."""
    m = len(starts)
    reached = np.append(starts, True)
    front: Any = np.flatnonzero(starts)
    for _ in range(_STEPS):
        front = step[front]
        front = front[front < m]
        if not len(front):
            return reached[:m]
        reached[front] = True
    while True:
        targets = step[np.flatnonzero(reached)]
        fresh = targets[~reached[targets]]
        moving = step[step]
        if not len(fresh) and bool((moving == step).all()):
            return reached[:m]
        reached[fresh] = True
        step = moving


def _first_at_or_after(t: Floats, ends: Floats, group_end: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return for each place the first later one of its group at or after ``ends``, else the group's end.

    A bisection of all groups at once; only where the group lasts that long.
    """
    result = group_end.copy()
    asking = np.flatnonzero(t[group_end - 1] >= ends).astype(np.int32)
    low, high, end = asking + np.int32(1), group_end[asking], ends[asking]
    while len(asking):
        is_open = low < high
        if not is_open.all():
            result[asking[~is_open]] = low[~is_open]
            asking, low, high, end = asking[is_open], low[is_open], high[is_open], end[is_open]
        middle = (low + high) // np.int32(2)
        early = t[middle] < end
        low, high = np.where(early, middle + np.int32(1), low), np.where(early, high, middle)
    return result
