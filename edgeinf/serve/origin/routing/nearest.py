"""The region nearest to the client on the globe; where that is not known, the fastest as measured."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from edgeinf.serve.origin.routing.base import Stats

__all__ = ["choose"]


def choose(regions: Sequence[str], stats: Mapping[str, Stats], rng: random.Random) -> str | None:
    """Return the nearest region; equal ones in the config's order."""
    placed = [name for name in regions if stats[name].distance_km is not None]
    if placed:
        return min(placed, key=lambda name: stats[name].distance_km or 0.0)
    return min(regions, key=lambda name: stats[name].latency_s or 0.0)
