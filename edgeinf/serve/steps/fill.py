"""Fill a flight: go from region to region until one answers, then store what may be stored."""

from __future__ import annotations

import logging

import msgspec

from edgeinf.core.dialects.origin_state import issued
from edgeinf.core.errors import CallError
from edgeinf.serve import replay
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.flight import Flight
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps import pinned
from edgeinf.serve.steps.attempt import Try, run
from edgeinf.serve.steps.failing import AttemptFailed
from edgeinf.serve.steps.issuers import note_issued
from edgeinf.serve.steps.leg import Leg
from edgeinf.serve.steps.relay import Recording
from edgeinf.serve.steps.route import Journey, route
from edgeinf.serve.steps.store import store

__all__ = ["fill"]

_log = logging.getLogger("edgeinf.relay")

# How long a key whose answer turned out unfit is not shared, so that it does not serialise its askers.
_UNSHARED_S = 30.0
_UNSHARED_LIMIT = 10_000


async def fill(x: Exchange, flight: Flight, runtime: Runtime, find: bytes) -> None:
    """Bring the answer into the flight. Ends the flight whatever happens."""
    elsewhere = runtime.shared_flights if find and x.parts is None else None
    try:
        if elsewhere is None or not await elsewhere.board(x, flight, find):
            await _fill(x, flight, runtime)
    except CallError as error:
        flight.fail(error)
    except Exception as error:
        _log.exception("a bug while relaying")
        flight.fail(CallError(f"a bug in edgeinf: {type(error).__name__}", status=500, code="internal"))
    finally:
        if not flight.done:  # it was cancelled, or the process ends: nobody waits on for what does not come
            flight.fail(CallError("the call was given up", status=499, code="client_gone"))
        if find:
            runtime.flights.pop(find, None)
            if elsewhere is not None:
                elsewhere.land(flight, find)
            good = flight.failure is None and 200 <= flight.status < 300
            if flight.unfit is not None and good and flight.entry is None:
                _remember_unshared(runtime, find)


async def _fill(x: Exchange, flight: Flight, runtime: Runtime) -> None:
    journey = await route(x, runtime)
    failure: AttemptFailed | None = None
    while True:
        try:
            leg = await journey.next(failure)
        except AttemptFailed as last:
            if not await replay.stale_into(x, flight, last, runtime):
                _fail(flight, last, journey)
            return
        try:
            recording, leg = await run(Try(x=x, flight=flight, runtime=runtime, journey=journey), leg)
        except AttemptFailed as error:
            failure = error
            flight.region = leg.target.origin.name
            continue
        finally:
            flight.attempts = journey.attempts
        _land(x, flight, leg, recording, runtime)
        return


def _land(x: Exchange, flight: Flight, leg: Leg, recording: Recording | None, runtime: Runtime) -> None:
    """Store what may be stored and let the readers have the end of the answer."""
    if recording is not None:
        _remember_issued(x, leg, recording, runtime)
    if recording is not None and flight.failure is None:
        if leg.target.fallback and recording.verdict.unfit is None:
            why = f"answered by the fallback model {leg.target.model!r}"
            recording.verdict = msgspec.structs.replace(recording.verdict, unfit=why)
        store(x, flight, recording, runtime.generation, runtime.tiers, runtime.clock.now())
        if flight.stored and flight.entry is not None:
            pinned.remember(x, leg.target.origin, flight.entry, runtime)
        if not flight.committed:
            headers = [(n.encode("latin-1"), v.encode("latin-1", "replace")) for n, v in recording.headers]
            status, content_type = recording.status, recording.content_type
            flight.commit(status, headers, stream=False, content_type=content_type, at_once=True)
            flight.add(recording.body)
    flight.recording = flight.recording and flight.failure is None
    if not flight.done:
        flight.finish()


def _remember_issued(x: Exchange, leg: Leg, recording: Recording, runtime: Runtime) -> None:
    """Remember whose the ids in an answer are, where there is more than one account that could be asked for them."""
    assert x.call is not None
    if len(runtime.generation.origins) < 2:
        return
    kept_there = x.call.dialect == "openai-responses" or x.call.body.get("store") is True
    names = issued(recording.body, every_id=kept_there)
    if names:
        note_issued(x, names, leg.target.origin, runtime)


def _fail(flight: Flight, failure: AttemptFailed, journey: Journey) -> None:
    """End the flight with what the last origin said: its own 4xx and 5xx answers are passed on unchanged."""
    if failure.cause.isdigit() and not failure.elsewhere:
        flight.unfit = f"status {failure.cause}"
        content_type = next((v for n, v in failure.headers if n == b"content-type"), b"application/json")
        headers = failure.headers
        if journey.attempts > 1 and failure.cause[0] == "5":
            # Every region was tried: a client that tries again by itself would only triple that.
            headers = [*(pair for pair in headers if pair[0] != b"x-should-retry"), (b"x-should-retry", b"false")]
        flight.commit(
            int(failure.cause), headers, stream=False, content_type=content_type.decode("latin-1"), at_once=True
        )
        flight.add(failure.body)
        flight.finish()
    else:
        flight.unfit = failure.error.message
        flight.fail(failure.error)


def _remember_unshared(runtime: Runtime, find: bytes) -> None:
    if len(runtime.unshared) >= _UNSHARED_LIMIT:
        runtime.unshared.clear()
    runtime.unshared[find] = runtime.clock.monotonic() + _UNSHARED_S
