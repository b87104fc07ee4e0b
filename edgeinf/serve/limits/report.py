"""What a client is told of its limits: headers on every answer, and a refusal that names what it ran into.

``RateLimit`` and ``RateLimit-Policy`` follow draft-ietf-httpapi-ratelimit-headers; ``x-ratelimit-*`` and their
durations (``6m0s``) are what the OpenAI SDKs and the tools around them read.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from edgeinf.core.errors import CallError
from edgeinf.core.units import format_duration
from edgeinf.core.wire.headers import Headers
from edgeinf.serve.limits.base import Charge, Level, Taken

if TYPE_CHECKING:
    from edgeinf.serve.limits.terms import Term

__all__ = ["headers", "plain", "refusal"]

_WHAT = {"requests": "requests", "tokens": "tokens", "concurrency": "calls at once", "budget": "USD"}

_OLD_NAMES = {
    kind: tuple(f"x-ratelimit-{what}-{kind}".encode() for what in ("limit", "remaining", "reset"))
    for kind in ("requests", "tokens")
}


def headers(told: Iterable[tuple[Term, Level]]) -> Headers:
    """Return the headers that say how much is left; of several bounds of a kind the old names show the tightest."""
    policies, states = [], []
    tightest: dict[str, tuple[float, float, float]] = {}
    for term, level in told:
        kind = term.kind
        if kind not in _OLD_NAMES:
            continue
        left, reset_s = max(0.0, term.capacity - level.used), level.reset_s
        policies.append(term.policy)
        states.append(f"{term.label};r={_whole(left)};t={math.ceil(reset_s)}")
        known = tightest.get(kind)
        if known is None or left < known[0]:
            tightest[kind] = left, term.capacity, reset_s
    if not states:
        return []
    found = [(b"ratelimit-policy", ", ".join(policies).encode()), (b"ratelimit", ", ".join(states).encode())]
    for what, (left, capacity, reset_s) in tightest.items():
        limit, remaining, reset = _OLD_NAMES[what]
        found += [(limit, b"%d" % capacity), (remaining, b"%d" % _whole(left)), (reset, _duration(reset_s).encode())]
    return found


def refusal(charges: Sequence[Charge], terms: Sequence[Term], taken: Taken, caller: str) -> CallError:
    """Return the 429 of a charge that did not fit: the limit, whose, what is used, how much there is, and when."""
    assert taken.refused is not None
    charge, level = charges[taken.refused], taken.levels[taken.refused]
    what = _WHAT[charge.kind]
    per = f" per {format_duration(charge.period_s)}" if charge.period_s else ""
    limit = f"the limit {charge.limit!r} of {_figure(charge.capacity)} {what}{per}"
    extra = [(n.decode("latin-1"), v.decode("latin-1")) for n, v in headers(zip(terms, taken.levels, strict=True))]
    if taken.retry_s is None:
        return CallError(
            f"this call may use {_figure(charge.cost)} {what}, more than {limit} allows for {caller}",
            status=429,
            code="larger_than_limit",
            hint="send less, or bound the answer with max_tokens",
            headers=(*extra, ("x-should-retry", "false")),
        )
    wait_s = max(1, math.ceil(taken.retry_s))
    asks = f", this call asks for {_figure(charge.cost)}" if charge.kind in ("tokens", "budget") else ""
    return CallError(
        f"{limit} is reached for {caller}: {_figure(level.used)} used{asks}; try again in {wait_s} s",
        status=429,
        code="budget_exhausted" if charge.kind == "budget" else "rate_limit_exceeded",
        headers=(
            *extra,
            ("retry-after", str(wait_s)),
            ("x-edgeinf-limit", plain(charge.limit)),
            # A budget that ends in days is not worth an SDK's automatic retries.
            *((("x-should-retry", "false"),) if wait_s > 120 else ()),
        ),
    )


def plain(name: str) -> str:
    """Return a name as the text of a structured field; what that cannot hold is replaced."""
    return "".join(c if " " <= c <= "~" and c not in '"\\' else "?" for c in name)


def _whole(left: float) -> int:
    # What is free grows between whole numbers; 0.9999999 of the last one is floating point, not a call too many.
    return math.floor(left + 1e-6)


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value - round(value)) < 0.005 else f"{value:,.2f}"


def _duration(seconds: float) -> str:
    """Write seconds as Go does: ``120ms``, ``1s``, ``6m0s``, ``1h0m0s``."""
    if seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    whole = math.ceil(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    text = f"{whole % 60}s"
    if whole >= 60:
        text = f"{minutes}m{text}"
    return f"{hours}h{text}" if hours else text
