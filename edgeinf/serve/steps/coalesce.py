"""Equal questions at the same time: the first fetches, the others follow.

A follower shares only what may be stored. Its own limits, scope and disconnect are its own: it has joined after they
were checked, and its leaving cuts nobody else. Where the shared answer fails before a follower has a byte, that
follower makes its own call.
"""

from __future__ import annotations

import asyncio

from edgeinf.core.errors import CallError
from edgeinf.core.wire.headers import SSE_HEADERS, Headers
from edgeinf.serve.exchange import ClientGone, Exchange
from edgeinf.serve.flight import Flight, Reader
from edgeinf.serve.rendering import StreamRenderer, events_for, whole_for
from edgeinf.serve.responses import SPOKEN_FOR, cache_headers
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.fill import fill
from edgeinf.serve.steps.parts import GATHER_LIMIT, flight_name, join
from edgeinf.serve.steps.store import storable

__all__ = ["follow", "join_or_launch", "lead"]

# How long a follower waits for the head of a shared answer before it asks for itself.
_PATIENCE_S = 120.0
# How many answers are fetched to their end for the cache alone, where the config wants that.
_UNREAD_LIMIT = 64


def join_or_launch(x: Exchange, runtime: Runtime, *, alone: bool = False) -> tuple[Flight, bool]:
    """Return the flight that will answer the call and whether this call is to lead it."""
    find = flight_name(x)
    may_share = storable(x) and not alone and not x.controls.no_cache and bool(find)
    if may_share and runtime.unshared:
        until = runtime.unshared.get(find)
        if until is not None:
            if until > runtime.clock.monotonic():
                may_share = False
            else:
                del runtime.unshared[find]
    if may_share:
        under_way = runtime.flights.get(find)
        if under_way is not None and not under_way.done:
            x.cache = "collapsed"
            return under_way, False
    x.cache = "bypass" if x.bypass is not None else "miss"
    x.reason = x.bypass
    flight = Flight()
    flight.storable = storable(x)
    if may_share:
        runtime.flights[find] = flight
    flight.name = find if may_share else b""
    return flight, True


async def lead(x: Exchange, flight: Flight, runtime: Runtime) -> bool:
    """Fetch the answer, for whoever follows as well, and send it to the client as :func:`follow` does."""
    assert x.call is not None
    if x.call.stream:
        flight.task = asyncio.get_running_loop().create_task(fill(x, flight, runtime, flight.name))
        return await follow(x, flight, runtime, leads=True)
    return await _lead_whole(x, flight, runtime)


async def _lead_whole(x: Exchange, flight: Flight, runtime: Runtime) -> bool:
    """Fetch a document and then send it, all in one task. What begins before its end is sent by another meanwhile.

    A client that leaves takes its task with it only where nobody else needs the answer.
    """
    task = flight.task = asyncio.current_task()
    assert task is not None
    reader = flight.join()
    sending: list[asyncio.Task[bool]] = []

    def begun() -> None:
        unfollow()
        sending.append(asyncio.create_task(follow(x, flight, runtime, leads=True, reader=reader)))

    def gone() -> None:
        reader.leave()
        flight.part(reader)
        _on_leaving(flight, runtime)

    unfollow = x.when_gone(gone)
    flight.begun = begun
    try:
        await fill(x, flight, runtime, flight.name)
        if sending:
            return await sending[0]
    except asyncio.CancelledError:
        if sending and sending[0].done() and not sending[0].cancelled():
            task.uncancel()  # whoever sends has stopped, and nobody needs the rest
            return sending[0].result()
        for one in sending:
            one.cancel()
        await asyncio.gather(*sending, return_exceptions=True)
        if not reader.gone:
            raise
        task.uncancel()
    finally:
        unfollow()
    if reader.gone:
        _take_over(x, flight, leads=True)
        raise ClientGone
    return await follow(x, flight, runtime, leads=True, reader=reader)


async def follow(x: Exchange, flight: Flight, runtime: Runtime, *, leads: bool, reader: Reader | None = None) -> bool:
    """Send the client what the flight brings; False where a follower must make its own call.

    Raise CallError where there is no answer, ClientGone where the client left.
    """
    reader = reader or flight.join()
    unfollow = x.when_gone(reader.leave)
    try:
        while not flight.committed and not flight.done:
            if not await reader.changed(None if leads else _PATIENCE_S):
                return False
            if reader.gone:
                raise ClientGone
        _take_over(x, flight, leads=leads)
        if not flight.committed:
            if not leads:
                return False
            raise flight.failure or CallError("no answer came", status=502, code="origin_bad")
        if (
            not leads
            and flight.done
            and (flight.failure is not None or flight.unfit is not None or flight.status != 200)
        ):
            return False
        assert x.call is not None
        if x.call.stream and flight.stream:
            await _send_stream(x, flight, reader)
            return True
        return await _send_whole(x, flight, reader, leads=leads)
    finally:
        unfollow()
        flight.part(reader)
        _on_leaving(flight, runtime)
        _take_over(x, flight, leads=leads)


def _take_over(x: Exchange, flight: Flight, *, leads: bool) -> None:
    x.region, x.usage, x.attempts = flight.region, flight.usage, flight.attempts if leads else 0
    x.origin_ms, x.answered_by = flight.origin_ms, flight.model
    # A follower may have come after the first token: then it had it at once.
    x.ttft_at = None if flight.first_token_at is None else max(flight.first_token_at, x.started)
    x.stored = flight.stored
    if leads and flight.unfit is not None:
        x.reason = flight.unfit


def _on_leaving(flight: Flight, runtime: Runtime) -> None:
    """The last reader left: stop fetching, unless the config says to finish what can be stored."""
    if flight.readers or flight.done or flight.task is None:
        return
    if runtime.generation.config.cache.on_disconnect == "finish" and flight.storable and flight.recording:
        unread = sum(not other.readers for other in runtime.flights.values())
        if unread <= _UNREAD_LIMIT:
            return
    flight.task.cancel()


async def _send_stream(x: Exchange, flight: Flight, reader: Reader) -> None:
    assert x.call is not None
    assert x.dialect is not None
    render = StreamRenderer(x.dialect, x.call, x.view)
    detail = flight.unfit or (None if flight.stored else "stored when complete" if x.bypass is None else x.bypass)
    own: Headers = cache_headers(x, stored=flight.stored, why_not=detail)
    await x.start(200, [*SSE_HEADERS, *_passed_on(flight, leads=x.cache != "collapsed"), *own])
    while True:
        if reader.gone:
            raise ClientGone
        piece = reader.take()
        if piece is not None:
            try:
                rendered = render.feed(piece)
            except CallError as error:  # a rule blocks what comes next
                x.error = error.code
                await x.write(x.dialect.error_events(error, x.id, started=True), more=False)
                return
            if rendered:
                await x.write(rendered, more=True)
            continue
        if flight.done:
            break
        await reader.changed()
    if flight.failure is not None:
        x.error = flight.failure.code
        await x.write(x.dialect.error_events(flight.failure, x.id, started=True), more=False)
    else:
        await x.write(b"", more=False)


async def _send_whole(x: Exchange, flight: Flight, reader: Reader, *, leads: bool) -> bool:
    """Send one document: what came whole, or a finished stream folded, or a finished document unfolded."""
    assert x.call is not None
    assert x.dialect is not None
    gathered: list[bytes] = []
    if flight.passing:
        await _send_large(x, flight, reader, leads=leads)
        return True
    if not flight.recording and not flight.stream:
        if x.view is not None:
            hint = "the rules under answer need it whole"
            raise CallError("the answer is too large to be looked through", status=502, code="origin_bad", hint=hint)
        if x.parts is None or not x.parts.partial:
            await _send_large(x, flight, reader, leads=leads)
            return True
        if not await _gather(flight, reader, gathered):
            return False
    while not flight.done:
        await reader.changed()
        if reader.gone:
            raise ClientGone
    _take_over(x, flight, leads=leads)
    if flight.failure is not None:
        if not leads:
            return False
        raise flight.failure
    body = b"".join([*gathered, reader.take() or b""])
    passed_on = _passed_on(flight, leads=leads)
    own = cache_headers(x, stored=flight.stored, why_not=flight.unfit)
    if flight.status == 200 and (flight.stream or x.call.stream):
        return await _send_reshaped(x, flight, body, own, passed_on, leads=leads)
    if flight.status == 200 and not flight.stream:
        whole = join(x, body)
        if whole is None:
            return False  # it cannot be put together with what was there
        body = whole if x.view is None else x.view.whole(whole)
    content_type = [(b"content-type", flight.content_type.encode("latin-1", "replace"))] if flight.content_type else []
    await x.answer(flight.status, [*content_type, *passed_on, *own], body)
    return True


async def _send_reshaped(
    x: Exchange, flight: Flight, body: bytes, own: Headers, passed_on: Headers, *, leads: bool
) -> bool:
    """Answer with the other shape than the origin's: a stream as a document, or a document as a stream."""
    assert x.call is not None
    assert x.dialect is not None
    try:
        if x.call.stream:
            events = b"".join(events_for(x.dialect, x.call, body, stream=False, view=x.view))
            await x.start(200, [*SSE_HEADERS, *passed_on, *own])
            await x.write(events, more=False)
        else:
            whole = whole_for(x.dialect, x.call, body, stream=True, view=x.view)
            await x.answer(200, [(b"content-type", b"application/json"), *passed_on, *own], whole)
    except ValueError as error:
        if not leads:
            return False  # asked for in its own shape it may be had
        raise CallError(f"the origin's answer cannot be understood: {error}", status=502, code="origin_bad") from None
    return True


async def _gather(flight: Flight, reader: Reader, gathered: list[bytes]) -> bool:
    """Gather what is too large to be recorded but must be joined; False where it is too large for that as well."""
    size = 0
    while not flight.done:
        piece = reader.take()
        if piece is None:
            await reader.changed()
            if reader.gone:
                raise ClientGone
            continue
        gathered.append(piece)
        size += len(piece)
        if size > GATHER_LIMIT:
            return False
    return True


async def _send_large(x: Exchange, flight: Flight, reader: Reader, *, leads: bool) -> None:
    own = cache_headers(x, why_not=None if flight.recording else "larger than what is stored")
    content_type = (b"content-type", flight.content_type.encode("latin-1", "replace"))
    await x.start(flight.status, [content_type, *_passed_on(flight, leads=leads), *own])
    while True:
        if reader.gone:
            raise ClientGone
        piece = reader.take()
        if piece is not None:
            await x.write(piece, more=True)
        elif flight.done:
            break
        else:
            await reader.changed()
    if flight.failure is not None:
        raise ConnectionError("the answer broke off")  # the server closes the connection, so the client notices
    await x.write(b"", more=False)


# Headers that describe the body as the origin framed it, which we frame anew.
_OURS = SPOKEN_FOR | {
    b"content-type",
    b"cache-control",
    b"x-accel-buffering",
    b"server-timing",
    b"age",
    b"cache-status",
}


def _passed_on(flight: Flight, *, leads: bool) -> Headers:
    """Return the origin's headers for this reader: what is about one request goes to the one that made it only."""
    if not leads:
        return []
    return [(name, value) for name, value in flight.headers if name not in _OURS]
