"""The region with the lowest number; equal ones in the config's order. The others are for when it cannot answer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from edgeinf.serve.origin.routing.base import Stats

__all__ = ["choose"]


def choose(regions: Sequence[str], stats: Mapping[str, Stats], rng: random.Random) -> str | None:
    """Return the first region of the lowest priority number."""
    return min(regions, key=lambda name: stats[name].priority)
