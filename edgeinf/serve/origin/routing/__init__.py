"""Strategies, one per file. Each is a pure ``choose(regions, stats, rng)``; this table is all that names them."""

from __future__ import annotations

from edgeinf.serve.origin.routing import latency, least_loaded, nearest, priority, weighted
from edgeinf.serve.origin.routing.base import Choose, Stats

__all__ = ["STRATEGIES", "Choose", "Stats"]

STRATEGIES: dict[str, Choose] = {
    "latency": latency.choose,
    "nearest": nearest.choose,
    "priority": priority.choose,
    "weighted": weighted.choose,
    "least-loaded": least_loaded.choose,
}
