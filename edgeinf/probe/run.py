"""The closed loop: one request in flight, a check of each target first, then the plan's steps."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence

import msgspec

from edgeinf.core.errors import RemoteError, UsageError
from edgeinf.core.tokens import warm
from edgeinf.probe.plan import Plan, steps
from edgeinf.probe.request import (
    FEW_TOKENS,
    MORE_TOKENS,
    Asked,
    Request,
    head_request,
    make_request,
    models_request,
)
from edgeinf.probe.sample import Client
from edgeinf.probe.transport import Route
from edgeinf.probe.values import Attempt, Target

__all__ = ["Run", "list_models", "run_rounds"]

_FINAL = ("dns", "tls", "redirect", "auth", "client_error")  # what no further attempt would change


class Run:
    """The clients of all targets, what each is asked, and every attempt so far."""

    def __init__(
        self,
        targets: Sequence[Target],
        plan: Plan,
        route: Route,
        *,
        on_attempt: Callable[[Attempt], None] = lambda attempt: None,
        prices: Callable[[Attempt], float | None] = lambda attempt: None,
        budget_usd: float | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.targets = {target.name: target for target in targets}
        self.plan = plan
        self.clients = {target.name: Client(target, route) for target in targets}
        self.asked: dict[str, Asked] = {target.name: plan.asked for target in targets}
        self.attempts: list[Attempt] = []
        self.notes: list[str] = []
        self.spent_usd = 0.0
        self.stopped: str | None = None
        self.asked_again = [target.name for target in targets]
        self.on_attempt = on_attempt
        self._prices = prices
        self._budget_usd = budget_usd
        self.sleep = sleep
        self._rng = random.Random(plan.seed ^ time.time_ns())  # nonces must be new in every run

    def request_for(self, name: str) -> bytes:
        """Return the body that the target would be sent; for estimates."""
        return make_request(self.targets[name], self.asked[name], random.Random(0)).body

    def take(self, attempt: Attempt) -> None:
        """Record an attempt, its price, and whether the budget is spent."""
        attempt.usd = self._prices(attempt)
        self.spent_usd += attempt.usd or 0.0
        self.attempts.append(attempt)
        self.on_attempt(attempt)
        if self._budget_usd is not None and self.spent_usd >= self._budget_usd:
            self.stopped = f"the budget of {self._budget_usd:g} USD is spent"

    def check(self) -> None:
        """Ask each target once; learn its parameters and whether 16 tokens show anything."""
        if self.plan.mode == "ping":
            return
        for name, target in self.targets.items():
            warm(target.model)  # the tokenizer's tables must not load while something is timed
            self._check_one(name)
            if self.stopped:
                return

    def _check_one(self, name: str) -> None:
        attempt = self._preflight(name)
        if attempt.error == "client_error" and attempt.status == 400:
            changed = _without_what_is_refused(self.asked[name], attempt.detail or "")
            if changed is not None:
                self.asked[name] = changed
                attempt = self._preflight(name)
        silent = attempt.error == "no_tokens" or (attempt.ok and attempt.streamed and not attempt.answered)
        if silent and self.asked[name].max_tokens == FEW_TOKENS:
            self.notes.append(f"{name}: nothing visible in {FEW_TOKENS} tokens, so {MORE_TOKENS} are asked for")
            self.asked[name] = msgspec.structs.replace(self.asked[name], max_tokens=MORE_TOKENS)
            attempt = self._preflight(name)
        if attempt.error in _FINAL:
            self.notes.append(f"{name}: not asked again, it would only refuse again ({attempt.error})")
            self.asked_again.remove(name)

    def _preflight(self, name: str) -> Attempt:
        request = make_request(self.targets[name], self.asked[name], self._rng)
        attempt = self.clients[name].attempt(request, round=-1, phase="preflight")
        self.take(attempt)
        return attempt

    def request(self, name: str) -> Request:
        """Return the next request for a target."""
        if self.plan.mode == "ping":
            return head_request(self.targets[name])
        return make_request(self.targets[name], self.asked[name], self._rng)

    def close(self) -> None:
        """Close all connections."""
        for client in self.clients.values():
            client.close()


def run_rounds(run: Run, rounds: Iterator[int]) -> None:
    """Make the plan's attempts, one at a time, until they end or the budget is spent."""
    if not run.asked_again:
        return
    for step in steps(run.plan, run.asked_again, rounds):
        if run.stopped:
            return
        if step.wait_s:
            run.sleep(step.wait_s)
        request = run.request(step.target)
        fresh = step.phase == "cold"
        run.take(run.clients[step.target].attempt(request, round=step.round, phase=step.phase, fresh=fresh))


def list_models(target: Target, route: Route) -> list[str]:
    """Return the models that a target lists, an empty list where it lists none. Raise RemoteError, UsageError."""
    client = Client(target, route)
    collected = bytearray()
    attempt = client.attempt(models_request(target), round=-1, phase="preflight", body=collected)
    client.close()
    if attempt.error is not None:
        raise RemoteError(f"{target.name} was not reached ({attempt.error}): {attempt.detail}")
    if attempt.status in (401, 403):
        raise UsageError(f"{target.name} refuses the credential ({attempt.status})", hint="use --key-env NAME")
    try:
        document = msgspec.json.decode(bytes(collected))
        return [entry["id"] for entry in document["data"]]
    except (msgspec.DecodeError, KeyError, TypeError):
        return []


def _without_what_is_refused(asked: Asked, said: str) -> Asked | None:
    """Return what to ask instead when a server does not know a parameter, None where it complains of another."""
    if "max_completion_tokens" in said and not asked.old_limit:
        return msgspec.structs.replace(asked, old_limit=True)
    if "reasoning" in said and asked.effort:
        return msgspec.structs.replace(asked, effort=False)
    return None
