"""The region with the most room, as its server's own metrics say, and our own calls since they were read.

A waiting queue outweighs all else: a call behind it waits for whole answers. Then the fill of the KV cache, whose
end is where a server begins to preempt; then the calls that run. Where a server publishes nothing, our own calls
stand for its load.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from edgeinf.serve.origin.routing.base import Stats

__all__ = ["choose", "load"]

_ROOM = 64


def load(stats: Stats) -> float:
    """Return how loaded a region is: 0 idle, about 1 full, more where calls wait."""
    own = stats.in_flight / (stats.limit or _ROOM)
    waiting = (stats.waiting or 0.0) / max(1.0, stats.running or 1.0)
    published = max(stats.fill or 0.0, (stats.running or 0.0) / (stats.limit or _ROOM)) + waiting
    return max(own, published) + 0.25 * own


def choose(regions: Sequence[str], stats: Mapping[str, Stats], rng: random.Random) -> str | None:
    """Return the least loaded region, the faster one where the load is the same; ties by lot."""
    order = list(regions)
    rng.shuffle(order)
    return min(order, key=lambda name: (round(load(stats[name]), 3), stats[name].latency_s or 0.0))
