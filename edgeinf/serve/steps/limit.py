"""How much may this caller use? Reserved before the call, settled with what was used, however it ends.

What hits count against is reserved before the lookup, the rest on the way to the origin. A call that runs on after
its client left keeps its slot until it ends.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

import msgspec

from edgeinf.core.call import Call, Usage
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.flight import Flight
from edgeinf.serve.limits import report
from edgeinf.serve.limits.base import Charge
from edgeinf.serve.limits.estimate import input_bound
from edgeinf.serve.limits.local import LocalLimiter
from edgeinf.serve.limits.terms import Bounds, Term, caller_name, subject
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.price import billed

__all__ = ["limit_call", "limit_fetch"]

_log = logging.getLogger("edgeinf.limits")

# Where this much of a counter stays free, a bound on the tokens is as good as their count.
_FAR = 0.5
# What an answer cut short is taken to have cost where the origin did not say: bytes per token on the wire.
_BYTES_PER_EVENT = 150
_BYTES_PER_TOKEN = 4


async def limit_call(x: Exchange, runtime: Runtime) -> None:
    """Reserve what holds for hits as well. Raise CallError 429."""
    terms = runtime.generation.terms
    if terms is not None and terms.early:
        await _reserve(x, terms.early, runtime)


async def limit_fetch(x: Exchange, runtime: Runtime) -> None:
    """Reserve what holds for calls that the cache does not answer. Raise CallError 429, and keep nothing then."""
    terms = runtime.generation.terms
    if terms is not None and terms.late:
        await _reserve(x, terms.late, runtime)


async def _reserve(x: Exchange, bounds: Bounds, runtime: Runtime) -> None:
    held = bounds.held(x)
    if not held:
        return
    if not x.charges:
        x.on_end.append(partial(_when_over, runtime=runtime))
    charges = await _charges(x, held, bounds, runtime) if bounds.weighs else _costing(x, held, 0.0)
    limiter = runtime.limiter
    taken = limiter.take_now(charges) if isinstance(limiter, LocalLimiter) else await limiter.take(x.id, charges)
    if taken.refused is not None:
        for charge, _ in x.charges:
            runtime.limiter.settle(x.id, charge, 0.0)
        x.charges.clear()
        x.told.clear()
        rejections = runtime.rejections
        name = charges[taken.refused].limit
        rejections[name] = rejections.get(name, 0) + 1
        caller = caller_name(x) if x.key_id is not None or x.credential else "callers without a credential"
        raise report.refusal(charges, held, taken, caller)
    x.charges += zip(charges, held, strict=True)
    x.told += zip(held, taken.levels, strict=True)


async def _charges(x: Exchange, held: Sequence[Term], bounds: Bounds, runtime: Runtime) -> list[Charge]:
    """Return what the call may use: by a cheap bound far from every limit, by count near one."""
    if x.call is None:
        return _costing(x, held, 0.0)
    estimator, limiter = runtime.estimator, runtime.limiter
    x.reserved = Usage(input_tokens=input_bound(x), output_tokens=round(estimator.output(x.call)))
    charges = _costing(x, held, await _usd(x, x.call, runtime) if bounds.prices else 0.0)
    for charge in charges:
        if charge.kind in ("tokens", "budget") and limiter.spare(charge) - charge.cost / charge.capacity < _FAR:
            counted = min(await estimator.exact_input(x.call), x.reserved.input_tokens or 0)
            x.reserved = msgspec.structs.replace(x.reserved, input_tokens=counted)
            return _costing(x, held, await _usd(x, x.call, runtime) if bounds.prices else 0.0)
    return charges


def _costing(x: Exchange, held: Sequence[Term], usd: float) -> list[Charge]:
    costs = {"requests": 1.0, "concurrency": 1.0, "tokens": _total(x.reserved), "budget": usd}
    return [term.charge(subject(term.per, x), costs[term.kind]) for term in held]


async def _usd(x: Exchange, call: Call, runtime: Runtime) -> float:
    book = runtime.generation.prices
    await book.ready(call.model)
    usd = book.usd((call.model,), x.reserved, runtime.clock.now())
    if usd is None:
        _say_once(runtime, call.model)
    return usd or 0.0


def _say_once(runtime: Runtime, model: str) -> None:
    if model not in runtime.unpriced and len(runtime.unpriced) < 1000:
        runtime.unpriced.add(model)
        _log.warning("no price is known for the model %r, so budgets do not count it; prices names one", model)


# --- settling ---


def _when_over(x: Exchange, runtime: Runtime) -> None:
    """Settle now, or when the call to the origin ends that runs on without its client."""
    flight = x.flight
    if flight is not None and flight.task is not None and not flight.done and not flight.task.done():
        flight.task.add_done_callback(lambda _: _settle(x, flight, runtime))
    else:
        _settle(x, flight, runtime)


def _settle(x: Exchange, flight: Flight | None, runtime: Runtime) -> None:
    charges, x.charges = x.charges, []
    shared = x.cache in ("hit", "collapsed", "stale")
    usage = x.usage if flight is None or shared else _known_usage(x, flight)
    if x.call is not None and not shared:
        runtime.estimator.learn(x.call, usage)
    settle = runtime.limiter.settle
    for charge, term in charges:
        settle(x.id, charge, _actual(x, charge, term, usage, runtime, shared=shared))


def _actual(x: Exchange, charge: Charge, term: Term, usage: Usage, runtime: Runtime, *, shared: bool) -> float:
    if charge.kind == "requests":
        return charge.cost
    if charge.kind == "concurrency" or (shared and not term.charges_hits):
        return 0.0
    if charge.kind == "tokens":
        return _total(usage)
    return runtime.generation.prices.usd(billed(x), usage, runtime.clock.now()) or 0.0


def _known_usage(x: Exchange, flight: Flight) -> Usage:
    """Return what the call used: as the origin says, or, where an answer was cut, by what arrived of it."""
    if flight.usage.input_tokens is not None or flight.usage.output_tokens is not None:
        return flight.usage
    if not flight.committed and flight.attempts and flight.failure is not None and flight.failure.code == "client_gone":
        # Given up while the origin was reading: what it read is not free, or leaving early would be a way round.
        return Usage(input_tokens=x.reserved.input_tokens, output_tokens=0)
    if not flight.committed or flight.status != 200:
        return Usage(input_tokens=0, output_tokens=0)
    size = _BYTES_PER_EVENT if flight.stream else _BYTES_PER_TOKEN
    return Usage(input_tokens=x.reserved.input_tokens, output_tokens=-(-flight.sent_bytes // size))


def _total(usage: Usage) -> float:
    return float((usage.input_tokens or 0) + (usage.output_tokens or 0))
