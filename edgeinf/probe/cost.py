"""What a run may cost at most, said before it starts, and what each attempt did cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from edgeinf.core.call import Usage
from edgeinf.core.pricing import Prices
from edgeinf.core.tokens import upper_bound
from edgeinf.probe.address import parse_url
from edgeinf.probe.run import Run
from edgeinf.probe.values import Attempt, Target

__all__ = ["Estimate", "estimate", "is_local", "price_of"]

_CHECKS = 2


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """Completions that will be asked for and what they cost at most; ``unknown`` are models without a price."""

    completions: int
    usd: float
    unknown: list[str]


def estimate(run: Run, prices: Prices) -> Estimate:
    """Return the most that a run can cost: every answer as long as it may be, a token for each byte sent."""
    total, completions, unknown = 0.0, 0, []
    if run.plan.completions == 0:
        return Estimate(completions=0, usd=0.0, unknown=[])
    for name, target in run.targets.items():
        count = run.plan.completions + _CHECKS
        completions += count
        if is_local(target):
            continue
        most = Usage(input_tokens=upper_bound(run.request_for(name)), output_tokens=run.asked[name].max_tokens)
        usd = prices.usd(target.model, most)
        if usd is None:
            unknown.append(target.model or name)
        else:
            total += count * usd
    return Estimate(completions=completions, usd=total, unknown=sorted(set(unknown)))


def price_of(targets: Mapping[str, Target], prices: Prices) -> Callable[[Attempt], float | None]:
    """Return a function that prices an attempt by the server's usage, None where it is not known."""

    def price(attempt: Attempt) -> float | None:
        target = targets[attempt.target]
        if attempt.input_tokens is None or is_local(target):
            return None
        usage = Usage(
            input_tokens=attempt.input_tokens,
            output_tokens=attempt.output_tokens,
            cached_tokens=attempt.cached_tokens,
        )
        return prices.usd(target.model, usage, at=attempt.at)

    return price


def is_local(target: Target) -> bool:
    """Return whether a target is on this machine, where nobody sends a bill."""
    return parse_url(target.url).host in ("localhost", "127.0.0.1", "::1")
