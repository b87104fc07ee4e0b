"""What a strategy is told of each region, and what it must return."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

__all__ = ["Choose", "Stats"]


class Stats(msgspec.Struct, kw_only=True, gc=False):
    """A region as a strategy sees it, at one instant, for one kind of call. ``None``: not known."""

    latency_s: float | None = None  # to the first token of a stream, or to the whole answer
    age_s: float = 0.0  # since that was last measured
    fail_ratio: float = 0.0
    waste_s: float = 0.0  # what a failure costs before it is known
    in_flight: int = 0  # our own calls under way
    limit: int | None = None  # max_concurrency
    running: float | None = None  # as the server's own metrics say
    waiting: float | None = None
    fill: float | None = None  # share of the KV cache in use
    weight: float = 1.0
    priority: int = 0
    distance_km: float | None = None  # from the client


class Choose(Protocol):
    """A strategy."""

    def __call__(self, regions: Sequence[str], stats: Mapping[str, Stats], rng: random.Random) -> str | None:
        """Return one of ``regions`` (in the config's order, not empty), None if none is ever to be chosen."""
        ...
