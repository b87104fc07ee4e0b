"""What happened, as one event."""

from __future__ import annotations

import time
from functools import lru_cache

from edgeinf.core.events import Event, EventKeys, EventScope
from edgeinf.core.key import hash_id, key_space
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.observe.bodies import with_bodies
from edgeinf.serve.request_names import trace_id
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.place import place_name

__all__ = ["make_event", "record"]


def record(x: Exchange, runtime: Runtime) -> Event:
    """Queue the request's event, for the log and for the figures, and return it."""
    if runtime.tracer is not None:
        runtime.tracer.of(x)
    event = make_event(x, runtime.secret, place_name(x, runtime.generation))
    runtime.events.put(event if x.captured is None else with_bodies(event, x))
    runtime.observer.note(event, x.call, len(x.raw), x.saved_ms)
    if runtime.tracer is not None:
        runtime.tracer.finish(x, event)
    return event


def make_event(x: Exchange, secret: bytes, place: str | None = None) -> Event:
    """Return the event of a finished request."""
    now = time.perf_counter()
    total_ms = (now - x.started) * 1000
    call, usage = x.call, x.usage
    keys = EventKeys(**{x.level: list(x.names)}) if x.names else _NO_KEYS
    scope_id = _scope_name(x.scope.id, secret) if x.scope.id else ""
    return Event(
        id=x.id,
        at=x.started_at,
        dialect=call.dialect if call is not None else "opaque",
        model=call.model if call is not None else None,
        region=x.region,
        tenant=x.team or x.key_id or scope_id or None,
        team=x.team,
        key_id=x.key_id,
        user=hash_id(call.user, secret) if call is not None and call.user else None,
        session=x.header(b"x-edgeinf-session"),
        route=x.header(b"x-edgeinf-route"),
        client_place=place,
        stream=call.stream if call is not None else False,
        cache=x.cache,
        tier=x.tier,
        reason=x.reason,
        age_s=_age_s(x),
        stored=x.stored,
        level=x.level or None,
        keys=keys,
        hits=x.hits,
        key_space=_space(secret),
        scope=EventScope(kind=x.scope.kind, id=scope_id),
        guard=x.guard,
        prompt=x.prompt,
        status=x.status,
        error=x.error,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        usd=x.usd,
        usd_saved=x.usd_saved,
        edgeinf_ms=round(max(0.0, total_ms - x.origin_ms), 3),
        ttft_ms=None if x.ttft_at is None else round((x.ttft_at - x.started) * 1000, 3),
        total_ms=round(total_ms, 3),
        attempts=x.attempts,
        trace_id=x.trace.id if x.trace is not None else trace_id(x.header(b"traceparent")),
    )


_NO_KEYS = EventKeys()
_scope_name = lru_cache(maxsize=4096)(hash_id)
_space = lru_cache(maxsize=4)(key_space)


def _age_s(x: Exchange) -> float | None:
    """Return how old the answer is; for a miss, how old the expired one was that it replaces."""
    if x.stale is not None and x.cache == "miss":
        return max(0.0, x.started_at - x.stale.stored_at)
    return x.entry_age_s
