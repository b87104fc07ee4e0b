"""Fill a flight: try origins in order until one answers, then store what may be stored."""

from __future__ import annotations

import asyncio
import logging

import msgspec

from edgeinf.core.errors import CallError
from edgeinf.serve import replay
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.flight import Flight
from edgeinf.serve.generation import Origin
from edgeinf.serve.origin.outgoing import dialect_headers, outgoing
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.relay import Attempt, AttemptFailed, Recording, relay
from edgeinf.serve.steps.route import route
from edgeinf.serve.steps.store import storable, store

__all__ = ["fill"]

_log = logging.getLogger("edgeinf.relay")

# How long a key whose answer turned out unfit is not shared, so that it does not serialise its askers.
_UNSHARED_S = 30.0
_UNSHARED_LIMIT = 10_000


async def fill(x: Exchange, flight: Flight, runtime: Runtime, find: bytes) -> None:
    """Bring the answer into the flight. Ends the flight whatever happens."""
    try:
        await _fill(x, flight, runtime)
    except asyncio.CancelledError:
        flight.fail(CallError("the call was given up", status=499, code="client_gone"))
        raise
    except CallError as error:
        flight.fail(error)
    except Exception as error:
        _log.exception("a bug while relaying")
        flight.fail(CallError(f"a bug in edgeinf: {type(error).__name__}", status=500, code="internal"))
    finally:
        if find:
            runtime.flights.pop(find, None)
            if not flight.stored:
                _remember_unshared(runtime, find)


async def _fill(x: Exchange, flight: Flight, runtime: Runtime) -> None:
    generation = runtime.generation
    origins = route(x, generation)
    failure: AttemptFailed | None = None
    for number, origin in enumerate(origins[:1]):
        flight.attempts = number + 1
        try:
            recording = await relay(runtime.client, _attempt(x, origin, runtime), flight)
        except AttemptFailed as error:
            failure = error
            flight.region = origin.name
            continue
        _land(x, flight, recording, runtime)
        return
    assert failure is not None
    if await replay.stale_into(x, flight, failure, runtime):
        return
    _fail(flight, failure)


def _attempt(x: Exchange, origin: Origin, runtime: Runtime) -> Attempt:
    assert x.call is not None
    assert x.dialect is not None
    body = x.dialect.upstream_body(x.call)
    headers = dialect_headers(origin, x.dialect.family, x.headers, runtime.generation.forward_headers)
    raw = x.raw if body is None else msgspec.json.encode(body)
    return Attempt(
        origin=origin,
        request=outgoing(origin, "POST", x.path, x.query, headers, raw),
        call=x.call,
        dialect=x.dialect,
        record=storable(x),
    )


def _land(x: Exchange, flight: Flight, recording: Recording | None, runtime: Runtime) -> None:
    """Store what may be stored and let the readers have the end of the answer."""
    if recording is not None and flight.failure is None:
        store(x, flight, recording, runtime.generation, runtime.tiers, runtime.clock.now())
        if not flight.committed:
            headers = [(n.encode("latin-1"), v.encode("latin-1", "replace")) for n, v in recording.headers]
            flight.commit(200, headers, stream=False, content_type=recording.content_type)
            flight.add(recording.body)
    flight.recording = flight.recording and flight.failure is None
    if not flight.done:
        flight.finish()


def _fail(flight: Flight, failure: AttemptFailed) -> None:
    """End the flight with what the last origin said: its own 4xx and 5xx answers are passed on unchanged."""
    if failure.cause.isdigit():
        flight.unfit = f"status {failure.cause}"
        content_type = next((v for n, v in failure.headers if n == b"content-type"), b"application/json")
        flight.commit(int(failure.cause), failure.headers, stream=False, content_type=content_type.decode("latin-1"))
        flight.add(failure.body)
        flight.finish()
    else:
        flight.unfit = failure.error.message
        flight.fail(failure.error)


def _remember_unshared(runtime: Runtime, find: bytes) -> None:
    if len(runtime.unshared) >= _UNSHARED_LIMIT:
        runtime.unshared.clear()
    runtime.unshared[find] = runtime.clock.monotonic() + _UNSHARED_S
