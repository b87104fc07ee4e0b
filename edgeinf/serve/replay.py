"""Answer from what is stored: as a stream or whole, at once or at its first pace, fresh or labelled stale."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Hashable

from edgeinf.core.call import Usage
from edgeinf.core.errors import CallError
from edgeinf.core.wire import sse
from edgeinf.core.wire.headers import SSE_HEADERS, Headers
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.cache.tiers import Found
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.flight import Flight
from edgeinf.serve.rendering import StreamRenderer, events_for, variant_of, whole_for
from edgeinf.serve.responses import error_answer, hit_headers
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.failing import AttemptFailed

__all__ = ["hit_head", "send_error", "send_hit", "shown_already", "shown_as", "stale_into"]

# Between the events of a paced replay where the entry does not know its pace.
_PACE_S = 0.02
_MAX_GAP_S = 2.0


async def send_hit(x: Exchange, hits: list[Found], runtime: Runtime) -> bool:
    """Answer from entries that are fresh; False where they cannot take the shape that is asked for."""
    x.cache, x.tier = "hit", hits[0].tier
    try:
        await _send(x, hits[0], runtime)
    except _Shapeless:
        x.cache, x.tier, x.hits = "miss", None, 0
        x.entry_age_s = x.region = x.saved_ms = x.answered_by = None
        x.usage = Usage()
        return False
    return True


async def stale_into(x: Exchange, flight: Flight, failure: AttemptFailed, runtime: Runtime) -> bool:
    """Let a flight that failed answer with an old entry; False where there is none, or the failure is the client's.

    The entry goes out as it is stored, and the flight says so, so that no follower takes it for the origin's.
    """
    allowed_s = runtime.generation.config.cache.stale_if_error
    entry = x.stale
    client_fault = failure.cause.isdigit() and failure.cause[0] == "4" and failure.cause != "429"
    if entry is None or client_fault or x.controls.max_age_s is not None:
        return False
    asked_s = x.controls.ttl_s
    ttl_s = entry.ttl_s if asked_s is None else min(entry.ttl_s, asked_s)
    if runtime.clock.now() - entry.stored_at >= ttl_s + allowed_s:
        return False
    x.cache, x.tier = "stale", "memory"
    x.error = failure.error.code
    flight.unfit = "stale"
    flight.entry = entry
    flight.region, flight.usage, flight.model = entry.region, entry.usage, entry.model
    x.entry_age_s = runtime.clock.now() - entry.stored_at
    flight.commit(200, [], stream=entry.stream, content_type=entry.content_type, at_once=True)
    flight.add(entry.body)
    flight.finish()
    return True


async def send_error(x: Exchange, error: CallError, runtime: Runtime) -> None:
    """Answer with an error of our own, in the dialect's form; nothing if an answer has begun."""
    x.error = error.code
    if x.status:
        return
    status, headers, body = error_answer(x, error)
    await x.answer(status, headers, body)


async def _send(x: Exchange, found: Found, runtime: Runtime) -> None:
    assert x.call is not None
    entry, now = found.entry, runtime.clock.now()
    head = hit_head(x, entry, now)
    if not x.call.stream:
        await x.answer(200, head, _shown(x, found, runtime))
        x.ttft_at = x.first_byte_at
    elif runtime.generation.config.cache.replay == "paced":
        events = _timed(x, entry)
        await x.start(200, head)
        x.ttft_at = x.first_byte_at
        await _paced(x, events)
    else:
        body = _shown(x, found, runtime)
        await x.start(200, head)
        x.ttft_at = x.first_byte_at
        await x.write(body, more=False)


def hit_head(x: Exchange, entry: Entry, now: float) -> Headers:
    """Return the headers of a hit, and take over from the entry what the event says of it."""
    x.entry_age_s = max(0.0, now - entry.stored_at)
    x.region, x.usage, x.saved_ms, x.answered_by = entry.region, entry.usage, entry.total_ms, entry.model
    own = [*_kept(entry), *hit_headers(x, entry.stored_at + entry.ttl_s - now)]
    if x.call_streams:
        return [*SSE_HEADERS, *own]
    content_type = b"application/json" if entry.stream else entry.content_type.encode("latin-1")
    return [(b"content-type", content_type), *own]


def shown_as(x: Exchange, runtime: Runtime) -> Hashable:
    """Return the name of the rendering that this asker is given."""
    if not x.variant and x.dialect is not None and x.call is not None:
        x.variant = variant_of(x.dialect, x.call)
    return runtime.generation.number, x.call_streams, x.variant


def shown_already(x: Exchange, found: Found, runtime: Runtime) -> bytes | None:
    """Return the answer's bytes for this asker where they have been rendered before."""
    if found.resident is None:
        return None
    return found.resident.shown.get(shown_as(x, runtime))


def _shown(x: Exchange, found: Found, runtime: Runtime) -> bytes:
    """Return the answer's bytes for this asker; rendered once where the entry is in memory."""
    assert x.call is not None
    assert x.dialect is not None
    entry, resident = found.entry, found.resident
    shown = shown_already(x, found, runtime)
    if shown is not None:
        return shown
    if x.call.stream:
        rendering = b"".join(_understood(x, entry))
    else:
        try:
            rendering = whole_for(x.dialect, x.call, entry.body, stream=entry.stream, view=x.view)
        except ValueError as error:
            raise _Shapeless from error
    if x.view is not None and x.view.verdicts:
        return rendering  # what was found in it is said in every asker's event
    if resident is not None and runtime.tiers.memory is not None and x.keys:
        if rendering == entry.body:
            rendering = entry.body  # one copy serves both
        runtime.tiers.memory.show(x.keys[0].find, resident, shown_as(x, runtime), rendering)
    return rendering


def _understood(x: Exchange, entry: Entry) -> list[bytes]:
    assert x.call is not None
    assert x.dialect is not None
    try:
        return events_for(x.dialect, x.call, entry.body, stream=entry.stream, view=x.view)
    except ValueError as error:
        raise _Shapeless from error


class _Shapeless(Exception):
    """What is stored cannot be had as a stream, or whole."""


def _kept(entry: Entry) -> Headers:
    return [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in entry.headers]


def _timed(x: Exchange, entry: Entry) -> list[tuple[float, bytes]]:
    """Return the answer's events for this asker, each with its seconds after the first.

    They have the gaps they first had, or even ones where the entry does not know; an event that this asker does not
    see leaves its gap to the next.
    """
    assert x.call is not None
    assert x.dialect is not None
    if not entry.stream:
        return [(number * _PACE_S, event) for number, event in enumerate(_understood(x, entry))]
    renderer = StreamRenderer(x.dialect, x.call, x.view)
    try:
        events = [renderer.feed(sse.encode(event)) for event in sse.decode_all(entry.body)]
    except ValueError as error:
        raise _Shapeless from error
    if entry.pace_ms is None or len(entry.pace_ms) != len(events):
        return [(number * _PACE_S, event) for number, event in enumerate(filter(None, events))]
    gaps_s = [0.0, *((later - sooner) / 1000 for sooner, later in itertools.pairwise(entry.pace_ms))]
    due_s = itertools.accumulate(min(max(gap_s, 0.0), _MAX_GAP_S) for gap_s in gaps_s)
    return [(at_s, event) for at_s, event in zip(due_s, events, strict=True) if event]


async def _paced(x: Exchange, events: list[tuple[float, bytes]]) -> None:
    """Send events when they are due."""
    loop = asyncio.get_running_loop()
    started = loop.time()
    for at_s, event in events:
        left_s = started + at_s - loop.time()
        if left_s > 0:
            await asyncio.sleep(left_s)
        await x.write(event, more=True)
    await x.write(b"", more=False)
