"""Regions by lot, each as often as its weight says. A weight of 0 means never, not even after a failure elsewhere."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from edgeinf.serve.origin.routing.base import Stats

__all__ = ["choose"]


def choose(regions: Sequence[str], stats: Mapping[str, Stats], rng: random.Random) -> str | None:
    """Return a region drawn by weight."""
    weights = [stats[name].weight for name in regions]
    if not any(weights):
        return None
    return rng.choices(regions, weights)[0]
