"""What this process knows of each region, and which one a call goes to next.

It outlives a reload: a region is known by its name and url. Health comes first (:mod:`.health`), then room, then the
configured strategy; all three only look at values, so the choice can be simulated with a fake clock and a seeded
generator.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence

import msgspec

from edgeinf.core.clock import Clock
from edgeinf.core.config.schema import Routing
from edgeinf.core.places import Place, distance_km
from edgeinf.serve.origin.health import CLOSED, DUE, OPEN, Health, Rest
from edgeinf.serve.origin.latency import Failures, Latency
from edgeinf.serve.origin.load import Figures
from edgeinf.serve.origin.model_map import Target
from edgeinf.serve.origin.region import Origin
from edgeinf.serve.origin.retry import Budget
from edgeinf.serve.origin.routing import STRATEGIES, Stats

__all__ = ["Adapted", "Ask", "Full", "Picked", "Refused", "RegionReport", "RegionState", "Regions"]

_MAX_KINDS = 512


class Ask(msgspec.Struct, kw_only=True):
    """What of a call matters to the choice. ``credential`` is the digest of the client's own."""

    stream: bool
    routing: Routing
    credential: str = ""
    place: Place | None = None


class Adapted(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an adapter is in a region; if not, why, and until when that is believed."""

    loaded: bool
    until: float
    why: str | None


class RegionState:
    """One region's memory."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.health = Health()
        self.failures = Failures()
        self.latencies: dict[tuple[str, bool], Latency] = {}
        self.in_flight = 0
        self.calls = 0
        self.failed = 0
        self.figures: Figures | None = None
        self.adapters: dict[str, Adapted] = {}
        self.adapter_locks: dict[str, asyncio.Lock] = {}

    def latency(self, model: str, stream: bool) -> Latency:
        """Return the measurements for one kind of call."""
        known = self.latencies.get((model, stream))
        if known is None:
            if len(self.latencies) >= _MAX_KINDS:  # model names come from clients
                self.latencies.clear()
            known = self.latencies[(model, stream)] = Latency()
        return known


class RegionReport(msgspec.Struct, frozen=True, kw_only=True):
    """One region as people see it."""

    name: str
    state: str
    calls: int
    failed: int
    in_flight: int
    error_ratio: float
    ttft_ms: float | None
    open_for_s: float | None = None


class Picked(msgspec.Struct):
    """Where the call goes. ``trial``: it finds out whether the region is back."""

    target: Target
    state: RegionState
    trial: bool = False

    @property
    def roomy(self) -> bool:
        """Return whether another call may go there now."""
        limit = self.target.origin.max_concurrency
        return limit is None or self.state.in_flight < limit


class Full(msgspec.Struct):
    """Every region that may be asked is at its ``max_concurrency``."""

    targets: list[Target]


class Refused(msgspec.Struct):
    """Every region rests because its origin asked for it; ``status`` is what it said, the soonest first."""

    status: int
    after_s: float


class _Waiter:
    __slots__ = ("future", "names")

    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.future: asyncio.Future[str] = asyncio.get_running_loop().create_future()


class Regions:
    """Every region's state, the room in each, and the budgets for extra calls."""

    def __init__(self, clock: Clock, rng: random.Random | None = None) -> None:
        self.clock = clock
        self.rng = rng or random.Random()
        self.retries = Budget(0.2)
        self.hedges = Budget(0.05, floor_per_s=0.0)
        self._states: dict[tuple[str, str], RegionState] = {}
        self._waiters: deque[_Waiter] = deque()

    def state(self, origin: Origin) -> RegionState:
        """Return what is known of a region."""
        known = self._states.get((origin.name, origin.base))
        if known is None:
            known = self._states[(origin.name, origin.base)] = RegionState(origin.name)
        return known

    def keep(self, origins: Iterable[Origin]) -> None:
        """Forget regions that the config no longer has."""
        wanted = {(origin.name, origin.base) for origin in origins}
        self._states = {name: state for name, state in self._states.items() if name in wanted}

    # --- the choice ---

    def pick(self, targets: Sequence[Target], ask: Ask) -> Picked | Full | Refused | None:
        """Return where a call goes; None if the strategy never chooses any of these."""
        now = self.clock.monotonic()
        fit: list[Picked] = []
        later: list[Picked] = []  # they would rather be left alone for a moment
        due: list[Picked] = []
        broken: list[Picked] = []
        rests: list[Rest] = []
        for target in targets:
            one = Picked(target, self.state(target.origin))
            health = one.state.health
            health.policy = ask.routing.health
            one.state.failures.fade_s = health.policy.cooldown
            rest = health.resting(now, target.sent, rest_name(target.origin, ask.credential))
            if rest is not None and rest.firm:
                rests.append(rest)
                continue
            state = health.state(now)
            if state == CLOSED:
                (fit if rest is None else later).append(one)
            else:
                (due if state == DUE else broken).append(one)
        usable = fit or later
        for one in due if usable else ():
            if one.roomy:
                one.state.health.begin_trial(now)
                one.trial = True
                return one
        if not usable:
            if not due and not broken:
                soonest = min(rests, key=lambda rest: rest.until)
                return Refused(soonest.status, max(0.0, soonest.until - now))
            # All are open by errors: some answer still is better than none, so the least bad takes all.
            usable = [min((*due, *broken), key=lambda one: _badness(one.state.health, now))]
        elif len(usable) > 1:
            usable = [one for one in usable if self._admits(one.state.health, now)] or usable
        roomy = [one for one in usable if one.roomy]
        if not roomy:
            return Full([one.target for one in usable])
        return self._choose(roomy, ask, now)

    def _choose(self, ones: list[Picked], ask: Ask, now: float) -> Picked | None:
        if len(ones) == 1:
            weightless = ask.routing.strategy == "weighted" and not ones[0].target.origin.weight
            return None if weightless else ones[0]
        by_name = {one.target.origin.name: one for one in ones}
        stats = {name: _stats(one, ask, now) for name, one in by_name.items()}
        name = STRATEGIES[ask.routing.strategy](list(by_name), stats, self.rng)
        return None if name is None else by_name[name]

    def _admits(self, health: Health, now: float) -> bool:
        share = health.share(now)
        return share >= 1.0 or self.rng.random() < share

    # --- room ---

    def enter(self, target: Target) -> None:
        """Take a place in a region."""
        state = self.state(target.origin)
        state.in_flight += 1
        state.calls += 1

    def leave(self, target: Target) -> None:
        """Give a place back; whoever waits longest for this region gets it at once, so nobody overtakes."""
        state, limit = self.state(target.origin), target.origin.max_concurrency
        if limit is None or state.in_flight <= limit:
            for waiter in self._waiters:
                if target.origin.name in waiter.names and not waiter.future.done():
                    waiter.future.set_result(target.origin.name)
                    state.calls += 1
                    return
        state.in_flight -= 1

    async def wait(self, targets: Sequence[Target], timeout_s: float) -> Target | None:
        """Wait for a place in one of these regions and return it, taken; None when the time is over."""
        waiter = _Waiter({target.origin.name for target in targets})
        by_name = {target.origin.name: target for target in targets}
        self._waiters.append(waiter)
        try:
            async with asyncio.timeout(timeout_s):
                return by_name[await waiter.future]
        except BaseException as error:
            if waiter.future.done() and not waiter.future.cancelled():
                self.leave(by_name[waiter.future.result()])  # handed over in the very turn that we gave up
            if isinstance(error, TimeoutError):
                return None
            raise
        finally:
            self._waiters.remove(waiter)

    # --- what others may know ---

    def usable(self, origins: Iterable[Origin]) -> bool:
        """Return whether at least one region is in use or due to be tried.

        One that is due counts: a balancer that waited for a success would send nothing that could bring one.
        """
        now = self.clock.monotonic()
        return any(self.state(origin).health.state(now) != OPEN for origin in origins)

    def report(self, origins: Iterable[Origin]) -> list[RegionReport]:
        """Return every region as people see it."""
        now = self.clock.monotonic()
        return [self._report(origin, now) for origin in origins]

    def _report(self, origin: Origin, now: float) -> RegionReport:
        state = self.state(origin)
        health = state.health
        latest = max(
            (latency for (_, stream), latency in state.latencies.items() if stream), key=lambda x: x.at, default=None
        )
        shown: Callable[[float], float] = lambda s: round(s * 1000, 1)  # noqa: E731 - one use, below
        return RegionReport(
            name=origin.name,
            state=health.state(now),
            calls=state.calls,
            failed=state.failed,
            in_flight=state.in_flight,
            error_ratio=health.error_ratio(now),
            ttft_ms=None if latest is None or latest.ewma_s is None else shown(latest.ewma_s),
            open_for_s=None if health.open_until is None else max(0.0, health.open_until - now),
        )


def rest_name(origin: Origin, credential: str) -> str:
    """Return whose quota an origin's 429 is about: the client's where its credential was sent, else ours."""
    return credential if origin.credential is None and origin.passthrough else ""


def _badness(health: Health, now: float) -> tuple[float, float]:
    return health.error_ratio(now), health.open_until or 0.0


def _stats(one: Picked, ask: Ask, now: float) -> Stats:
    origin, state = one.target.origin, one.state
    latency = state.latencies.get((one.target.model, ask.stream))
    figures = state.figures
    return Stats(
        latency_s=None if latency is None else latency.expected_s(now),
        age_s=1e9 if latency is None else now - latency.at,
        fail_ratio=state.failures.ratio(now),
        waste_s=state.failures.waste_s,
        in_flight=state.in_flight,
        limit=origin.max_concurrency,
        running=None if figures is None else figures.running,
        waiting=None if figures is None else figures.waiting,
        fill=None if figures is None else figures.fill,
        weight=origin.weight,
        priority=origin.priority,
        distance_km=None if ask.place is None or origin.place is None else distance_km(ask.place, origin.place),
    )
