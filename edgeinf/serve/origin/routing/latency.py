"""The region with the least time to the first token, as measured.

Power of two choices: the fastest known and one drawn by lot are compared by what a call there can be expected to
cost. Drawing both by lot, as balancers over equal servers do, would send a third of the calls to a far region where
there are three. A small share measures again the region that was measured longest ago.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from edgeinf.serve.origin.routing.base import Stats

__all__ = ["EXPLORE", "choose", "expected_s"]

EXPLORE = 0.02
# Where no limit is known: so many calls at once count as much as a doubled latency. Inference servers batch.
_ROOM = 64
# What another try costs beside the time the failed one took.
_RETRY_S = 0.25
_LIKELY_FAILS = 0.95


def expected_s(stats: Stats) -> float:
    """Return the expected time of a call in seconds; a region that was never measured is expected to be fast."""
    latency_s = 0.0 if stats.latency_s is None else stats.latency_s
    loaded_s = max(latency_s, 1e-4) * (1.0 + stats.in_flight / (stats.limit or _ROOM))
    p = min(stats.fail_ratio, _LIKELY_FAILS)
    return loaded_s + p / (1.0 - p) * (stats.waste_s + _RETRY_S + loaded_s)


def choose(regions: Sequence[str], stats: Mapping[str, Stats], rng: random.Random) -> str | None:
    """Return the better of the fastest known region and another; sometimes the one least known."""
    if len(regions) == 1:
        return regions[0]
    if rng.random() < EXPLORE:
        return max(regions, key=lambda name: stats[name].age_s)
    fastest = min(regions, key=lambda name: _known_s(stats[name]))
    other = rng.choice([name for name in regions if name != fastest])
    return other if expected_s(stats[other]) < expected_s(stats[fastest]) else fastest


def _known_s(stats: Stats) -> float:
    p = min(stats.fail_ratio, _LIKELY_FAILS)
    latency_s = 0.0 if stats.latency_s is None else stats.latency_s
    return latency_s + p / (1.0 - p) * (stats.waste_s + _RETRY_S + latency_s)
