"""One attempt at one region: what it turned out to be is noted here, once, and its place given back."""

from __future__ import annotations

import logging
import time

from edgeinf.serve.origin.health import is_fault
from edgeinf.serve.origin.regions import Ask, Picked, Regions, rest_name
from edgeinf.serve.origin.retry import retry_after_s
from edgeinf.serve.steps.failing import AttemptFailed

__all__ = ["Leg"]

_log = logging.getLogger("edgeinf.regions")


class Leg:
    """A place in a region, from setting out to the end of its answer."""

    def __init__(self, picked: Picked, regions: Regions, ask: Ask, number: int) -> None:
        self.target = picked.target
        self.state = picked.state
        self.trial = picked.trial
        self.number = number
        self._regions = regions
        self._ask = ask
        self._started = time.perf_counter()
        self._began = regions.clock.monotonic()
        self._answered = self._judged = self._ended = False
        self._latency = self.state.latency(self.target.model, ask.stream)
        if ask.stream:  # how long a whole answer takes depends on its length first, so its waiting says nothing
            self._latency.set_out(self, self._began)

    def answered(self) -> None:
        """The first token, or the whole answer, is there."""
        if self._answered or self._judged:
            return
        self._answered = self._judged = True
        now, seconds = self._regions.clock.monotonic(), time.perf_counter() - self._started
        self._latency.settle(self)
        self._latency.observe(seconds, now)
        if self.trial:
            self.state.failures.forget()
        self.state.failures.observe(failed=False, seconds=seconds, now=now)
        was_open = self.state.health.open_until is not None
        self.state.health.succeed(now, started=self._began, trial=self.trial)
        if was_open and self.state.health.open_until is None:
            _log.warning("region %r answers again and is used again", self.state.name)

    def failed(self, failure: AttemptFailed) -> None:
        """The attempt failed, before or after its first token."""
        now, health = self._regions.clock.monotonic(), self.state.health
        self._judged = True
        self._latency.settle(self)
        if failure.elsewhere:
            health.end_trial()
            return
        rests_s = retry_after_s(failure.headers, self._regions.clock.now())
        if failure.cause == "429" or (failure.cause in ("503", "529") and rests_s is not None):
            whose = rest_name(self.target.origin, self._ask.credential) if failure.cause == "429" else ""
            health.rest(now, self.target.sent, whose, int(failure.cause), rests_s)
        if not is_fault(failure.cause):
            health.heard(now, trial=self.trial)
            return
        self.state.failed += 1
        self.state.failures.observe(failed=True, seconds=time.perf_counter() - self._started, now=now)
        was_closed = health.open_until is None
        health.fail(now, trial=self.trial)
        if was_closed and health.open_until is not None:
            _log.warning("region %r is left out for %g s: %s", self.state.name, health.policy.cooldown, failure)

    def end(self) -> None:
        """Give the place back; a trial that came to nothing is free for the next call."""
        if self._ended:
            return
        self._ended = True
        self._latency.settle(self)
        if self.trial and not self._judged:
            self.state.health.end_trial()
        self._regions.leave(self.target)
