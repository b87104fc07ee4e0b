"""Which requests would have hit: time to live and least-recently-used replacement, for a whole log at once.

The rules are those of ``edgeinf.core.eviction``: an entry is stored when its answer is complete and valid while
``t - stored < ttl``; an expired entry that is found is a miss and is stored again as the most recent. So the order of
use does not depend on times, and an entry is gone exactly when its stack distance reaches the capacity. What arrives
while the first answer is still running is coalesced with it and counted apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from edgeinf.analyze.dense import Ids, order_of

__all__ = ["Accesses", "Block", "Lookups", "Outcome", "Simulation", "first_at_or_after", "grouped", "simulate"]

_BLOCK = 1 << 16  # accesses that are simulated at one time
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
    """Look-ups, and their order by id."""

    ids: Ids
    storable: Mask
    at: Floats | None
    running_s: npt.NDArray[np.float32] | None
    order: npt.NDArray[np.int32]  # by id, then time
    begins: Mask  # in that order: the first access of each id

    def blocks(self, distances: npt.NDArray[np.int32] | None = None) -> Iterator[Block]:
        """Yield runs of whole ids, so that what a simulation needs of each access is never there for all at once."""
        n = len(self.order)
        starts = np.append(np.flatnonzero(self.begins), n)
        start = 0
        while start < n:
            end = int(starts[np.searchsorted(starts, min(start + _BLOCK, n))])
            block = self._block(start, end, distances)
            start = end
            if len(block.order):
                yield block

    def _block(self, start: int, end: int, distances: npt.NDArray[np.int32] | None) -> Block:
        order, begins = self.order[start:end], self.begins[start:end]
        again = ~(begins & np.append(begins[1:], True))  # what is asked for once cannot hit
        order, begins = order[again], begins[again]
        t = np.zeros(len(order)) if self.at is None else self.at[order]
        return Block(
            order=order,
            ids=self.ids[order],
            begins=begins,
            storable=self.storable[order],
            t=t,
            done=t if self.at is None or self.running_s is None else t + self.running_s[order],
            timed=self.at is not None,
            distances=None if distances is None else distances[order],
        )


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """Accesses by id and then time; ``order`` are their places among all, ``done`` is when an answer would be there."""

    order: npt.NDArray[np.int32]
    ids: Ids
    begins: Mask
    storable: Mask
    t: Floats
    done: Floats
    timed: bool
    distances: npt.NDArray[np.int32] | None


class Outcome(msgspec.Struct, frozen=True):
    """Per access: found, or arrived while the same question was being answered."""

    hit: Mask
    coalesced: Mask


def grouped(
    ids: Ids, storable: Mask, at: Floats | None = None, running_s: npt.NDArray[np.float32] | None = None
) -> Accesses:
    """Prepare accesses for any number of simulations."""
    order = order_of(ids)
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
    hit, coalesced = np.zeros(len(accesses.ids), bool), np.zeros(len(accesses.ids), bool)
    for block in accesses.blocks(distances):
        hit[block.order], coalesced[block.order] = Simulation(block, ttl_s).found(capacity)
    return Outcome(hit, coalesced)


class Simulation:
    """A block under one time to live, to be run with any number of capacities.

    A walk goes through the storable accesses: from each that stores an answer to the first of its id after that answer
    has ended.
    """

    def __init__(self, block: Block, ttl_s: float | Floats = float("inf")) -> None:
        self._block = block
        n = len(block.order)
        life: Any = ttl_s[block.ids] if isinstance(ttl_s, np.ndarray) else ttl_s
        self._ends = block.done + life if block.timed else np.full(n, np.inf)
        first = np.where(block.begins, np.arange(n, dtype=np.int32), np.int32(0))
        self._first = np.maximum.accumulate(first, out=first)
        places = np.flatnonzero(block.storable).astype(np.int32)
        self._places = places
        self._heads = np.empty(len(places), bool)
        self._heads[:1] = True
        self._heads[1:] = self._first[places[1:]] != self._first[places[:-1]]
        starts = np.flatnonzero(self._heads).astype(np.int32)
        bounds = np.append(starts, np.int32(len(places)))
        self._group_end = np.repeat(bounds[1:], np.diff(bounds))
        self._following = first_at_or_after(block.t[places], self._ends[places], self._group_end)

    def found(self, capacity: int | None = None) -> tuple[Mask, Mask]:
        """Return which accesses hit and which are coalesced; with a capacity the block has distances."""
        t, done = self._block.t, self._block.done
        forced = None
        if capacity is not None and self._block.distances is not None:
            forced = (self._block.distances < 0) | (self._block.distances >= capacity)
        stores = self._stores(forced)
        latest = np.where(stores, np.arange(len(t), dtype=np.int32), np.int32(-1))
        np.maximum.accumulate(latest, out=latest)
        reused = (latest >= self._first) & ~stores
        if forced is not None:
            reused &= ~forced
        at_latest = np.maximum(latest, 0)
        running = reused & (t < done[at_latest])
        return reused & ~running & (t < self._ends[at_latest]), running

    def hits(self, capacity: int | None = None) -> int:
        """Return how many accesses hit."""
        return int(np.count_nonzero(self.found(capacity)[0]))

    def _stores(self, forced: Mask | None) -> Mask:
        """Return which accesses store an answer: each id's first, each after the last has ended, and with a capacity
        each after an eviction."""
        stores = np.zeros(len(self._block.t), bool)
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


def first_at_or_after(t: Floats, ends: Floats, group_end: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
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
