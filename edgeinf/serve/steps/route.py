"""Where does the call go, and where next if that fails? One journey per call, one leg per attempt."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace

from edgeinf.core.dialects.origin_state import referred
from edgeinf.core.errors import CallError
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.origin.health import CLOSED
from edgeinf.serve.origin.model_map import Target
from edgeinf.serve.origin.regions import Ask, Full, Picked, Refused
from edgeinf.serve.origin.retry import backoff_s, retryable
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.failing import AttemptFailed
from edgeinf.serve.steps.issuers import find_issuers
from edgeinf.serve.steps.leg import Leg
from edgeinf.serve.steps.place import client_place

Stages = tuple[tuple[Target, ...], ...]

__all__ = ["Journey", "route"]

# Calls that do something at the origin are not sent twice on a mere suspicion.
_HEDGED_REASONS = frozenset({None, "temperature", "url-inputs", "no-user"})


async def route(x: Exchange, runtime: Runtime) -> Journey:
    """Return the journey of a call. Raise CallError 404 where no region serves it."""
    assert x.dialect is not None
    assert x.call is not None
    family, model = x.dialect.family, x.call.model
    stages = runtime.generation.stages(family, model)
    if not stages:
        raise CallError(
            f"no region serves {family!r} for the model {model!r}",
            status=404,
            code="no_region",
            hint="add it to a region's serves, or to the model's regions",
        )
    return Journey(x, runtime, await _bound(x, runtime, stages))


async def _bound(x: Exchange, runtime: Runtime, stages: Stages) -> Stages:
    """Keep a call that refers to what an account holds to that account, its issuing region first.

    What nobody is known to have issued goes to the first account, and stays there.
    """
    assert x.call is not None
    first = stages[0][0].origin.account(x.credential)
    if all(target.origin.account(x.credential) == first for stage in stages for target in stage):
        return stages
    names = referred(x.raw, x.call.body)
    if not names:
        return stages
    issuers = await find_issuers(x, names, runtime)
    account = issuers[-1][1] if issuers else first
    regions = {region for region, _ in issuers}
    kept = [[t for t in stage if t.origin.account(x.credential) == account] for stage in stages]
    if not any(kept):  # the account is no longer in the config
        kept = [[t for t in stage if t.origin.account(x.credential) == first] for stage in stages]
    split = [part for stage in kept for part in _issuers_first(stage, regions)]
    return tuple(tuple(stage) for stage in split if stage)


def _issuers_first(stage: list[Target], regions: set[str]) -> tuple[list[Target], list[Target]]:
    return [t for t in stage if t.origin.name in regions], [t for t in stage if t.origin.name not in regions]


class Journey:
    """The regions that one call may still go to: the model's own first, then those of its fallback models.

    ``in_order`` goes by the targets' own priorities, whatever strategy is configured.
    """

    def __init__(
        self, x: Exchange, runtime: Runtime, stages: Sequence[Sequence[Target]], *, in_order: bool = False
    ) -> None:
        routing = runtime.generation.config.routing
        if in_order:
            routing = replace(routing, strategy="priority")
        self._x = x
        self._regions = regions = runtime.regions
        self._stages = [list(stage) for stage in stages]
        self._routing = routing
        self._tried: set[str] = set()
        self._tries = 0  # within the running stage
        self.attempts = 0
        self._ask = Ask(
            stream=x.call is not None and x.call.stream,
            routing=routing,
            credential=x.credential,
            place=client_place(x, runtime.generation),
        )
        now = regions.clock.monotonic()
        regions.retries.share = routing.failover.retry_budget
        regions.retries.count(now)
        if routing.hedge is not None:
            regions.hedges.share = routing.hedge.budget
            regions.hedges.count(now)

    async def next(self, failure: AttemptFailed | None) -> Leg:
        """Return the next leg, waiting for room if need be. Raise AttemptFailed where the journey ends."""
        if failure is not None:
            self._may_go_on(failure)
        while self._stages:
            left = self._left()
            if not left and self._again(failure):
                await asyncio.sleep(backoff_s(self._tries, self._regions.rng.random()))
                self._tried.clear()
                left = self._left()
            picked = self._regions.pick(left, self._ask) if left else None
            if isinstance(picked, Picked):
                return self._set_out(picked)
            if isinstance(picked, Full):
                timeout_s = min(target.origin.timeouts.ttft for target in picked.targets)
                target = await self._regions.wait(picked.targets, timeout_s)
                if target is not None:
                    return self._set_out(Picked(target, self._regions.state(target.origin)), entered=True)
                failure = failure or _full(timeout_s)
            elif isinstance(picked, Refused):
                failure = failure or _refused(picked)
            self._stages.pop(0)
            self._tried.clear()
            self._tries = 0
        raise failure or _never()

    def hedge(self) -> Leg | None:
        """Return a second leg beside the running one, if another region has room and the budget allows it."""
        left = self._left()
        picked = self._regions.pick(left, self._ask) if left else None
        if not isinstance(picked, Picked):
            return None
        if picked.trial:
            picked.state.health.end_trial()  # a region under suspicion speeds nothing up
            return None
        if not self._regions.hedges.spend(self._regions.clock.monotonic()):
            return None
        return self._set_out(picked)

    def hedge_after_s(self, leg: Leg) -> float | None:
        """Return how long to wait for a leg's first token before a second one; None for never."""
        hedge = self._routing.hedge
        if hedge is None or self._x.bypass not in _HEDGED_REASONS or not self._left():
            return None
        if isinstance(hedge.after, str):
            quantile = float(hedge.after[1:]) / 100
            return leg.state.latency(leg.target.model, self._ask.stream).quantile_s(quantile)
        return hedge.after

    def more(self) -> bool:
        """Return whether another region could take over."""
        return len(self._stages) > 1 or bool(self._left())

    def upcoming(self) -> str | None:
        """Return the name of the region that would be next."""
        now = self._regions.clock.monotonic()
        following = [self._left(), *self._stages[1:]]
        for target in (target for stage in following for target in stage):
            if self._regions.state(target.origin).health.state(now) == CLOSED:
                return target.origin.name
        return None

    def _left(self) -> list[Target]:
        if not self._stages or self._tries >= self._routing.failover.attempts:
            return []
        return [target for target in self._stages[0] if target.origin.name not in self._tried]

    def _may_go_on(self, failure: AttemptFailed) -> None:
        if failure.elsewhere:
            return
        if not retryable(failure.cause, self._routing.failover.retry_on):
            raise failure
        possible = self.more() or self._again(failure)
        if possible and not self._regions.retries.spend(self._regions.clock.monotonic()):
            raise failure

    def _again(self, failure: AttemptFailed | None) -> bool:
        """Return whether the same regions may be tried once more: only where a call never reached one."""
        return failure is not None and failure.cause == "connect" and self._tries < self._routing.failover.attempts

    def _set_out(self, picked: Picked, *, entered: bool = False) -> Leg:
        if not entered:
            self._regions.enter(picked.target)
        if not self.attempts:
            self._keep_credential_home(picked.target)
        self._tried.add(picked.target.origin.name)
        self._tries += 1
        self.attempts += 1
        return Leg(picked, self._regions, self._ask, self.attempts)

    def _keep_credential_home(self, first: Target) -> None:
        """The client's own credential was meant for where the call went first, and goes to no other host."""
        if not self._x.credential or first.origin.credential is not None or not first.origin.passthrough:
            return
        site = first.origin.site
        self._stages = [
            [t for t in stage if t.origin.credential is not None or not t.origin.passthrough or t.origin.site == site]
            for stage in self._stages
        ]
        self._stages = [self._stages[0], *(stage for stage in self._stages[1:] if stage)]


def _full(timeout_s: float) -> AttemptFailed:
    error = CallError(
        f"every region is at its max_concurrency, and none had room within {timeout_s:g} s",
        status=503,
        code="regions_full",
        headers=(("retry-after", "1"),),
    )
    return AttemptFailed("full", error)


def _refused(refused: Refused) -> AttemptFailed:
    seconds = max(1, math.ceil(refused.after_s))
    status = 429 if refused.status == 429 else 503
    error = CallError(
        f"every region asked to be left alone; the first is back in {seconds} s",
        status=status,
        code="regions_resting",
        headers=(("retry-after", str(seconds)), ("retry-after-ms", str(math.ceil(refused.after_s * 1000)))),
    )
    return AttemptFailed("resting", error)


def _never() -> AttemptFailed:
    error = CallError("no region may be chosen", status=503, code="no_region", hint="all weights left are 0")
    return AttemptFailed("resting", error)
