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

__all__ = ["Accesses", "Lookups", "Outcome", "grouped", "simulate"]

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
    n = len(accesses.ids)
    hit, coalesced = np.zeros(n, bool), np.zeros(n, bool)
    order = accesses.order
    if not n:
        return Outcome(hit, coalesced)
    storable = accesses.storable[order]
    timed = accesses.at is not None
    t = accesses.at[order] if accesses.at is not None else np.zeros(n)
    done = t + accesses.running_s[order] if timed and accesses.running_s is not None else t
    life: Any = ttl_s[accesses.ids[order]] if isinstance(ttl_s, np.ndarray) else ttl_s
    ends = done + life if timed else np.full(n, np.inf)
    forced = None
    if capacity is not None and distances is not None:
        d = distances[order]
        forced = (d < 0) | (d >= capacity)
    stores = _store_points(t, ends, storable, accesses.begins, forced)
    latest = np.where(stores, np.arange(n, dtype=np.int32), np.int32(-1))
    np.maximum.accumulate(latest, out=latest)
    first = np.where(accesses.begins, np.arange(n, dtype=np.int32), np.int32(0))
    np.maximum.accumulate(first, out=first)
    reused = (latest >= first) & ~stores
    if forced is not None:
        reused &= ~forced
    at_latest = np.maximum(latest, 0)
    running = reused & (t < done[at_latest])
    valid = reused & ~running & (t < ends[at_latest])
    hit[order] = valid
    coalesced[order] = running
    return Outcome(hit, coalesced)


def _store_points(t: Floats, ends: Floats, storable: Mask, begins: Mask, forced: Mask | None) -> Mask:
    """Return, in order of id and time, which accesses store an answer: each id's first, then each after the last
    has ended (or, with a capacity, was evicted), followed for all ids at once by doubling the steps."""
    n = len(t)
    stores = np.zeros(n, bool)
    places = np.flatnonzero(storable).astype(np.int32)
    m = len(places)
    if not m:
        return stores
    group = np.cumsum(begins, dtype=np.int32)[places]
    heads = np.empty(m, bool)
    heads[:1] = True
    heads[1:] = group[1:] != group[:-1]
    head_places = np.flatnonzero(heads).astype(np.int32)
    group_end = np.repeat(np.append(head_places[1:], m).astype(np.int32), np.diff(np.append(head_places, m)))
    t, ends = t[places], ends[places]
    following = _first_at_or_after(t, ends, group_end)
    if forced is not None:
        must = np.where(forced[places], np.arange(m, dtype=np.int32), np.int32(m))
        upcoming = np.minimum.accumulate(must[::-1])[::-1]
        nearest = np.append(upcoming[1:], np.int32(m))
        following = np.where(nearest < group_end, np.minimum(following, nearest), following)
    # A place past its group's end stops the walk; m is the place where all walks rest.
    step = np.append(np.where(following < group_end, following, m).astype(np.int32), np.int32(m))
    reached = np.append(heads, False)
    while True:
        targets = step[np.flatnonzero(reached)]
        fresh = targets[~reached[targets]]
        fresh = fresh[fresh < m]
        moving = step[step]
        if not len(fresh) and bool((moving == step).all()):
            break
        reached[fresh] = True
        step = moving
    stores[places[np.flatnonzero(reached[:m])]] = True
    return stores


def _first_at_or_after(t: Floats, ends: Floats, group_end: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return for each place the first later one of its group at or after ``ends``, else the group's end.

    A bisection of all groups at once; only where the group lasts that long.
    """
    m = len(t)
    result = group_end.copy()
    lasting = np.flatnonzero(t[group_end - 1] >= ends).astype(np.int32)
    low, high = lasting + 1, group_end[lasting].copy()
    while len(lasting):
        open_ = low < high
        if not open_.any():
            break
        middle = (low + high) // 2
        early = open_ & (t[np.minimum(middle, m - 1)] < ends[lasting])
        low = np.where(early, middle + 1, low).astype(np.int32)
        high = np.where(open_ & ~early, middle, high).astype(np.int32)
    result[lasting] = low
    return result
