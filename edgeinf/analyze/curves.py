"""How the hit rate grows: with capacity, with time to live, with both, and with the length of the log."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import msgspec
import numpy as np
import numpy.typing as npt

from edgeinf.analyze.levels import LevelRun
from edgeinf.analyze.log import Log
from edgeinf.analyze.options import Options
from edgeinf.analyze.simulate import Accesses, Simulation
from edgeinf.analyze.stack import previous, stack_distances

__all__ = ["CapacityCurve", "Curves", "capacity_curve", "level_curves", "warmup"]

_STEPS = (1.0, 2.0, 5.0)


class CapacityCurve(msgspec.Struct, frozen=True):
    """LRU without expiry over look-ups: (entries, hit rate), and how many entries bring 90 and 99 % of the ceiling."""

    points: list[tuple[int, float]]
    for_90: int | None
    for_99: int | None


class Curves(msgspec.Struct, frozen=True):
    """The curves of one level; rates are hits per look-up."""

    lookups: int
    capacity: CapacityCurve
    ttl: list[tuple[float, float]] | None
    ttl_capacity: list[tuple[float, int, float]] | None


def capacity_curve(distances: npt.NDArray[np.int32], lookups: int, capacities: tuple[int, ...] = ()) -> CapacityCurve:
    """Return the exact LRU curve from stack distances (FIRST for what can never hit)."""
    found = np.bincount(distances[distances >= 0]) if bool((distances >= 0).any()) else np.zeros(1, np.int64)
    hits = np.cumsum(found)  # hits[d]: with d + 1 entries
    ceiling = int(hits[-1])
    sizes = capacities or _sizes(len(hits))
    points = [(c, int(hits[min(c, len(hits)) - 1]) / lookups if c > 0 and lookups else 0.0) for c in sizes]
    reach = [int(np.searchsorted(hits, share * ceiling)) + 1 if ceiling else None for share in (0.9, 0.99)]
    return CapacityCurve(points, reach[0], reach[1])


def _sizes(most: int) -> tuple[int, ...]:
    """Return round sizes up to the first that holds everything ever found."""
    sizes = []
    for power in range(1, 12):
        for step in _STEPS:
            size = int(step * 10**power)
            sizes.append(size)
            if size >= most:
                return tuple(sizes)
    return tuple(sizes)


def level_curves(log: Log, run: LevelRun, options: Options, *, table: bool) -> Curves:
    """Return the curves of a level: what failed neither stores nor refreshes an entry and is left out of capacity."""
    every = run.lookups(log)
    accesses = stored = every.grouped()
    if not bool(every.storable.all()):
        stored = every.grouped(np.flatnonzero(every.storable))
    lookups = max(1, len(accesses.ids))
    distances = stack_distances(previous(stored.ids, stored.order))
    capacity = capacity_curve(distances, lookups, options.capacities)
    if accesses.at is None:
        return Curves(lookups, capacity, None, None)
    sizes = table_sizes(capacity, options) if table else []
    if stored is accesses:  # and so one walk is enough
        hits = _hits(accesses, options.ttls_s, distances, [None, *sizes])
    else:
        without = _hits(accesses, options.ttls_s, None, [None])
        hits = np.concatenate((without, _hits(stored, options.ttls_s, distances, sizes)), axis=1) if table else without
    rates = hits / lookups
    points = list(zip(options.ttls_s, rates[:, 0].tolist(), strict=True))
    if not table:
        return Curves(lookups, capacity, points, None)
    both = rates[:, 1:].ravel().tolist()
    rows = [(*pair, rate) for pair, rate in zip(product(options.ttls_s, sizes), both, strict=True)]
    return Curves(lookups, capacity, points, rows)


def _hits(
    accesses: Accesses, ttls_s: Sequence[float], distances: npt.NDArray[np.int32] | None, sizes: Sequence[int | None]
) -> npt.NDArray[np.int64]:
    """Return the hits by time to live and number of entries."""
    hits = np.zeros((len(ttls_s), len(sizes)), np.int64)
    for block in accesses.blocks(distances):
        for number, ttl_s in enumerate(ttls_s):
            simulation = Simulation(block, ttl_s)
            hits[number] += [simulation.hits(size) for size in sizes]
    return hits


def table_sizes(capacity: CapacityCurve, options: Options) -> list[int]:
    """Return a few sizes for the two-way table: those asked for, else around the knee of the curve."""
    if options.capacities:
        return list(options.capacities)
    knee = capacity.for_90 or 10
    return sorted({max(1, math.ceil(knee * share)) for share in (0.1, 0.3, 1.0, 3.0)})


def warmup(log: Log, run: LevelRun, points: int = 20) -> list[tuple[int, float, float]]:
    """Return (requests so far, hit rate so far, hit rate of the latest stretch): a short log under-reports."""
    total = np.cumsum(run.hit)
    ends = np.unique(np.linspace(0, log.rows, points + 1).astype(int)[1:])
    starts = np.concatenate(([0], ends[:-1]))
    before = np.where(starts > 0, total[starts - 1], 0)
    return [
        (int(e), float(total[e - 1] / e), float((total[e - 1] - b) / (e - s)))
        for s, e, b in zip(starts, ends, before, strict=True)
        if e > s
    ]
