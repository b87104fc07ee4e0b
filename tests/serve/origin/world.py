"""A simulated world of regions: calls arrive, take as long as the region says, and are told to the real choice.

Nothing sleeps; the clock jumps from event to event, so ten minutes of traffic take a second.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Region, Routing
from edgeinf.core.places import Place
from edgeinf.serve.origin.model_map import Target
from edgeinf.serve.origin.region import make_origin
from edgeinf.serve.origin.regions import Ask, Picked, Regions

__all__ = ["Behaviour", "World"]

# How a region behaves at a time, with so many calls in it: seconds to the first token, None for a failure.
Behaviour = Callable[[float, int], float | None]


@dataclass(slots=True)
class World:
    """Regions with behaviours, and what was sent where: ``sent[second][region]``."""

    behaviours: dict[str, Behaviour]
    routing: Routing = field(default_factory=Routing)
    seed: int = 0
    limit: int | None = None
    place: Place | None = None
    failure_s: float = 0.05
    clock: FakeClock = field(default_factory=lambda: FakeClock(0.0))
    sent: dict[int, Counter[str]] = field(default_factory=dict)
    refused: int = 0
    regions: Regions = field(init=False)
    targets: list[Target] = field(init=False)
    _under_way: list[tuple[float, int, Picked, float | None, float]] = field(default_factory=list)
    _count: itertools.count[int] = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.regions = Regions(self.clock, random.Random(self.seed))
        made = [make_origin(Region(name=n, url=f"http://{n}", max_concurrency=self.limit)) for n in self.behaviours]
        self.targets = [Target(origin=origin, model="m", sent="m") for origin in made]

    def run(self, until_s: float, per_s: float) -> None:
        """Let calls arrive evenly until a time."""
        step = 1.0 / per_s
        at = self.clock.monotonic()
        while at < until_s:
            self._settle(at)
            self.clock.advance(at - self.clock.monotonic())
            self._call(at)
            at += step
        self._settle(until_s)
        self.clock.advance(until_s - self.clock.monotonic())

    def share(self, region: str, start_s: float, end_s: float) -> float:
        """Return which share of the calls sent in a span of seconds a region got."""
        within = [counts for second, counts in self.sent.items() if start_s <= second < end_s]
        total = sum(sum(counts.values()) for counts in within)
        return sum(counts[region] for counts in within) / total if total else 0.0

    def _call(self, now: float) -> None:
        picked = self.regions.pick(self.targets, Ask(stream=True, routing=self.routing, place=self.place))
        if not isinstance(picked, Picked):
            self.refused += 1
            return
        name = picked.target.origin.name
        self.sent.setdefault(int(now), Counter())[name] += 1
        self.regions.enter(picked.target)
        picked.state.latency("m", True).set_out(id(picked), now)
        takes = self.behaviours[name](now, picked.state.in_flight)
        ends = now + (self.failure_s if takes is None else takes)
        heapq.heappush(self._under_way, (ends, next(self._count), picked, takes, now))

    def _settle(self, until: float) -> None:
        while self._under_way and self._under_way[0][0] <= until:
            ends, _, picked, takes, started = heapq.heappop(self._under_way)
            self.clock.advance(ends - self.clock.monotonic())
            state = picked.state
            state.latency("m", True).settle(id(picked))
            if takes is None:
                state.failures.observe(failed=True, seconds=self.failure_s, now=ends)
                state.health.fail(ends, trial=picked.trial)
            else:
                state.latency("m", True).observe(takes, ends)
                if picked.trial:
                    state.failures.forget()
                state.failures.observe(failed=False, seconds=takes, now=ends)
                state.health.succeed(ends, started=started, trial=picked.trial)
            self.regions.leave(picked.target)
