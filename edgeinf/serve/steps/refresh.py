"""An answer that has just expired is served once more, while one call in the background fetches the next."""

from __future__ import annotations

import asyncio

from edgeinf.core.errors import CallError
from edgeinf.core.events import REFRESH
from edgeinf.serve.exchange import Exchange, Message
from edgeinf.serve.flight import Flight
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.coalesce import follow
from edgeinf.serve.steps.fill import fill
from edgeinf.serve.steps.limit import limit_fetch
from edgeinf.serve.steps.parts import flight_name
from edgeinf.serve.steps.price import price
from edgeinf.serve.steps.record import record

__all__ = ["may_serve_stale", "serve_stale"]

# After a refresh that brought nothing to keep, the next one for the same question waits this long.
_REST_S = 5.0
_RESTING_LIMIT = 10_000

# What the call in the background is, taken over from the one that caused it.
_COPIED = (
    *("address", "call", "controls", "credential", "dialect", "forms", "key_id", "keys", "level", "names", "prompt"),
    *("raw", "rewritten", "scope", "team", "user", "variant", "virtual_key"),
)


def may_serve_stale(x: Exchange, runtime: Runtime) -> bool:
    """Return whether the expired answer that was found may be served while the next is fetched."""
    allowed_s = runtime.generation.config.cache.stale_while_revalidate
    entry = x.stale
    if entry is None or allowed_s <= 0 or x.controls.max_age_s is not None or x.controls.ttl_s is not None:
        return False
    return runtime.clock.now() - entry.stored_at < entry.ttl_s + allowed_s


async def serve_stale(x: Exchange, runtime: Runtime) -> None:
    """Answer with the expired entry, and see that one call fetches the next."""
    entry = x.stale
    assert entry is not None
    if not x.controls.no_store:
        _refresh(x, runtime)
    x.cache, x.tier = "stale", "memory"
    x.entry_age_s = runtime.clock.now() - entry.stored_at
    flight = Flight()
    flight.unfit, flight.entry = "stale while a fresh answer is fetched", entry
    flight.region, flight.usage, flight.model = entry.region, entry.usage, entry.model
    flight.commit(200, [], stream=entry.stream, content_type=entry.content_type, at_once=True)
    flight.add(entry.body)
    flight.finish()
    await follow(x, flight, runtime, leads=True)


def _refresh(x: Exchange, runtime: Runtime) -> None:
    name = flight_name(x)
    under_way = runtime.flights.get(name)
    if under_way is not None and not under_way.done:
        return
    if runtime.resting.get(name, 0.0) > runtime.clock.monotonic():
        return
    behind = Exchange(x.method, x.path, x.query, x.headers, x.client, _never, _nowhere)
    for field in _COPIED:
        setattr(behind, field, getattr(x, field))
    flight = Flight()
    flight.storable = True
    behind.flight = flight
    runtime.flights[name] = flight
    flight.task = asyncio.get_running_loop().create_task(_fetch(behind, flight, name, runtime))


async def _fetch(behind: Exchange, flight: Flight, name: bytes, runtime: Runtime) -> None:
    try:
        await limit_fetch(behind, runtime)
        await fill(behind, flight, runtime, name)
    except CallError as refused:
        flight.fail(refused)
        runtime.flights.pop(name, None)
    finally:
        _note(behind, flight, runtime)
        if flight.stored:
            runtime.resting.pop(name, None)
        else:
            if len(runtime.resting) >= _RESTING_LIMIT:
                runtime.resting.clear()
            runtime.resting[name] = runtime.clock.monotonic() + _REST_S


def _note(behind: Exchange, flight: Flight, runtime: Runtime) -> None:
    """End the call, and record it where it went to an origin: no client asked for it, but it was paid for."""
    behind.usage = flight.usage
    if flight.attempts:
        behind.cache, behind.tier, behind.reason, behind.entry_age_s = "miss", None, REFRESH, None
        behind.region, behind.attempts, behind.origin_ms = flight.region, flight.attempts, flight.origin_ms
        behind.stored, behind.ttft_at, behind.status = flight.stored, flight.first_token_at, flight.status
        if flight.failure is not None:
            behind.status, behind.error = flight.failure.status, flight.failure.code
        price(behind, runtime.generation.prices, runtime.clock.now())
    behind.end()
    if flight.attempts:
        record(behind, runtime)


async def _never() -> Message:
    return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]  # it never comes


async def _nowhere(message: Message) -> None:
    return None
