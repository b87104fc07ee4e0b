"""May the answer be kept? If so, it goes to every tier as the origin sent it."""

from __future__ import annotations

import msgspec

from edgeinf.core.cacheable import lifetime_s
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.cache.tiers import Tiers
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.flight import Flight
from edgeinf.serve.generation import Generation
from edgeinf.serve.steps.parts import covered, separate
from edgeinf.serve.steps.relay import Recording

__all__ = ["storable", "store"]

# Answer headers that an entry keeps; whatever is about one request, one client or one connection is not here.
_KEPT_HEADERS = frozenset(
    {"content-language", "openai-version", "openai-model", "anthropic-version", "x-request-model"}
)


def storable(x: Exchange) -> bool:
    """Return whether the call's answer may be kept at all."""
    return x.bypass is None and bool(x.keys) and not x.controls.no_store


def store(x: Exchange, flight: Flight, recording: Recording, generation: Generation, tiers: Tiers, now: float) -> None:
    """Keep a recorded answer, or say on the flight why not."""
    if not storable(x):
        flight.unfit = x.bypass or "no-store"
        return
    if recording.verdict.unfit is not None:
        flight.unfit = recording.verdict.unfit
        return
    assert x.call is not None
    ttl_s = generation.policy.ttl_s if x.controls.ttl_s is None else min(generation.policy.ttl_s, x.controls.ttl_s)
    if ttl_s <= 0:
        flight.unfit = "ttl 0"
        return
    try:
        bodies = separate(x, recording)
    except ValueError as error:
        flight.unfit = f"its parts do not match what was asked: {error}"
        return
    entry = Entry(
        trust=b"",
        stored_at=now,
        ttl_s=ttl_s,
        stream=recording.stream,
        content_type=recording.content_type,
        dialect=x.call.dialect,
        path=x.call.path,
        model=recording.verdict.model,
        asked=x.call.model,
        region=flight.region,
        namespace=x.controls.namespace,
        level=x.level,
        usage=recording.verdict.usage,
        total_ms=flight.origin_ms or None,
        ttft_ms=None if flight.first_token_at is None else (flight.first_token_at - flight.started) * 1000,
        pace_ms=recording.pace_ms,
        headers=[(name, value) for name, value in recording.headers if name in _KEPT_HEADERS],
    )
    for number, body in zip(covered(x), bodies, strict=True):
        life_s = lifetime_s(ttl_s, generation.policy.ttl_jitter, x.forms[number].digest)
        entry = msgspec.structs.replace(entry, trust=x.keys[number].trust, ttl_s=life_s, body=body)
        if x.parts is not None:
            entry.usage = x.dialect.judge(x.call, body).usage if x.dialect is not None else entry.usage
        tiers.put(x.keys[number], entry)
    flight.entry = entry
    flight.stored = True
