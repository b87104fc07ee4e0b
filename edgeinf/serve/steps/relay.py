"""Fetch the answer from an origin into a flight, watching what passes.

A stream's pieces are whole events, byte for byte as the origin sent them. A whole answer is held until it is
complete, so that an error inside a 200 is seen in time; beyond what may be stored it is passed on as it comes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.dialects.base import ERROR, TOKEN, Dialect, Verdict, Watcher
from edgeinf.core.errors import CallError
from edgeinf.core.wire import sse
from edgeinf.core.wire.headers import Headers, end_to_end, get
from edgeinf.serve.flight import RECORD_LIMIT, Flight
from edgeinf.serve.origin.boundaries import EventCutter
from edgeinf.serve.origin.client import Client, OriginFailure, Request, Response
from edgeinf.serve.origin.decoding import Inflater, inflater
from edgeinf.serve.origin.region import Origin
from edgeinf.serve.steps.failing import AttemptFailed, Beaten, bad_answer, lost, redirected, soft_error, timed_out
from edgeinf.serve.steps.patience import Patience

__all__ = ["Attempt", "Recording", "relay"]

_DROPPED = frozenset({b"content-length", b"content-encoding", b"set-cookie", b"date", b"server"})


class Recording(msgspec.Struct, kw_only=True):
    """What passed, as it would be stored."""

    verdict: Verdict
    body: bytes
    stream: bool
    content_type: str
    headers: list[tuple[str, str]]
    status: int = 200
    pace_ms: list[float] | None = None


class Attempt(msgspec.Struct, kw_only=True):
    """One try: a request for an origin, on behalf of a call.

    ``claim`` is asked once before anything is passed on, and says whether this attempt still may; ``answered`` hears
    of the first token or the whole answer; ``upcoming`` names the region that a new try would go to.
    """

    origin: Origin
    request: Request
    call: Call
    dialect: Dialect
    hold: bool = False  # keep events back until the first token, so that another origin can still take over
    record: bool = True
    claim: Callable[[], bool] = lambda: True
    answered: Callable[[], None] = lambda: None
    upcoming: Callable[[], str | None] = lambda: None


async def relay(client: Client, attempt: Attempt, flight: Flight) -> Recording | None:
    """Fetch one answer into ``flight`` and return its recording, None if it was too large to record.

    Raise AttemptFailed where nothing was passed on. Once something was, a failure ends the flight in the dialect's
    own way and the recording says why it is unfit.
    """
    origin, timeouts = attempt.origin, attempt.origin.timeouts
    started = time.perf_counter()
    loop = asyncio.get_running_loop()
    begun = loop.time()
    deadline = begun + timeouts.total
    # A whole answer may be silent until its last token; only a stream says early that it is alive.
    head_s = min(timeouts.total, timeouts.ttft) if attempt.call.stream else timeouts.total
    response: Response | None = None
    with Patience(loop) as patience:
        patience.until(begun + head_s)
        try:
            try:
                response = await client.send(attempt.request)
            except OriginFailure as error:
                raise lost(origin, error) from None
            patience.until(deadline)
            return await _read(response, attempt, flight, started, patience)
        except asyncio.CancelledError:
            if not patience.lapsed():
                raise
            if response is None:
                raise timed_out(origin, f"no answer began within {head_s:g} s") from None
            _broken(flight, attempt, timed_out(origin, f"it took longer than {timeouts.total:g} s"))
            return None
        finally:
            if response is not None:
                response.close()
                flight.origin_ms = (time.perf_counter() - started) * 1000


async def _read(
    response: Response, attempt: Attempt, flight: Flight, started: float, patience: Patience
) -> Recording | None:
    headers = end_to_end(response.headers)
    content_type = (get(headers, b"content-type") or b"").decode("latin-1")
    try:
        decoder = inflater(get(headers, b"content-encoding"))
    except ValueError as error:
        raise bad_answer(attempt.origin, str(error)) from None
    kept = [(name, value) for name, value in headers if name not in _DROPPED]
    if response.status == 200 and content_type.split(";")[0].strip().lower() == "text/event-stream":
        return await _read_stream(response, attempt, flight, kept, decoder, started, patience)
    return await _read_whole(response, attempt, flight, kept, decoder, content_type)


# --- streams ---


async def _read_stream(
    response: Response,
    attempt: Attempt,
    flight: Flight,
    headers: Headers,
    decoder: Inflater | None,
    started: float,
    patience: Patience,
) -> Recording | None:
    origin, timeouts = attempt.origin, attempt.origin.timeouts
    loop = asyncio.get_running_loop()
    begun = loop.time() - (time.perf_counter() - started)
    deadline = begun + timeouts.total
    watcher = attempt.dialect.watch(attempt.call)
    cutter, events = EventCutter(), sse.Decoder()
    recorded: list[bytes] = []
    pace: list[float] = []
    held: list[bytes] = []
    seen = size = 0
    done = False

    def commit() -> None:
        _claim(attempt, flight)
        flight.commit(200, headers, stream=True, content_type="text/event-stream; charset=utf-8")
        for piece in held:
            flight.add(piece)
        held.clear()

    while True:
        patience.until(min(deadline, loop.time() + timeouts.idle if seen & TOKEN else begun + timeouts.ttft))
        try:
            chunk = await _next(response, decoder)
            patience.until(deadline)
        except asyncio.CancelledError:
            if loop.time() >= deadline or not patience.lapsed():
                raise
            if _ended(flight, watcher):
                break
            what = f"no event came for {timeouts.idle:g} s" if seen & TOKEN else f"no token within {timeouts.ttft:g} s"
            broken = timed_out(origin, what)
            _broken(flight, attempt, broken)
            return None
        except (OriginFailure, ValueError) as error:
            if _ended(flight, watcher):
                break
            broken = lost(origin, error) if isinstance(error, OriginFailure) else bad_answer(origin, str(error))
            _broken(flight, attempt, broken)
            return None
        if chunk is None:
            break
        try:
            decoded = events.feed(chunk)
        except ValueError as error:
            _broken(flight, attempt, bad_answer(origin, str(error)))
            return None
        before = seen
        at_ms = (time.perf_counter() - started) * 1000
        for event in decoded:
            brings = watcher.feed(event)
            if brings & ERROR and not flight.committed:
                raise soft_error(origin, watcher.verdict(), event.data)
            seen |= brings
            done = done or (not brings and event.is_done)
            if flight.recording:
                raw = sse.encode(event)
                recorded.append(raw)
                size += len(raw)
                pace.append(at_ms)
        if size > RECORD_LIMIT and flight.recording and flight.committed:
            flight.recording = False
            recorded.clear()
        piece = cutter.feed(chunk)
        first_token = bool(seen & TOKEN and not before & TOKEN)
        if flight.committed:
            if first_token:
                _answered(attempt, flight)
            if piece:
                flight.add(piece)
                await flight.room()
            continue
        if piece:
            held.append(piece)
        # With nobody to take over there is no reason to keep the head of a stream from its reader.
        if seen & TOKEN or (decoded and not attempt.hold):
            commit()
            if first_token:
                _answered(attempt, flight)
    verdict = _forgiven(watcher.verdict(), origin, done=done)
    if not flight.committed:
        if verdict.unfit is not None and verdict.unfit.startswith(("stream cut", "no ", "malformed")):
            raise bad_answer(origin, verdict.unfit)
        commit()
    if not seen & TOKEN and verdict.unfit is None:
        _answered(attempt, flight)
    flight.model, flight.usage = verdict.model, verdict.usage
    cut = verdict.unfit is not None and verdict.unfit.startswith("stream cut")
    if cut:
        _end_broken(flight, attempt, bad_answer(origin, verdict.unfit or "").error, verdict.unfit)
    if not flight.recording:
        flight.unfit = flight.unfit or "larger than what is stored"
        return None
    return Recording(
        verdict=verdict,
        body=b"".join(recorded),
        stream=True,
        content_type=flight.content_type,
        headers=[],
        pace_ms=pace,
    )


def _ended(flight: Flight, watcher: Watcher) -> bool:
    """Return whether all of the answer has come, so that what the connection does afterwards is of no account."""
    return flight.committed and watcher.verdict().unfit is None


async def _next(response: Response, decoder: Inflater | None) -> bytes | None:
    """Return the next decoded bytes. Raise OriginFailure, ValueError."""
    while True:
        chunk = await response.read()
        if chunk is None or decoder is None:
            if chunk is None and decoder is not None and not decoder.whole:
                raise ValueError("the compressed answer is cut short")
            return chunk
        chunk = decoder.feed(chunk)
        if chunk:
            return chunk


def _claim(attempt: Attempt, flight: Flight) -> None:
    """Make the flight this attempt's. Raise Beaten where another has it."""
    if not attempt.claim():
        raise Beaten
    flight.region = attempt.origin.name


def _answered(attempt: Attempt, flight: Flight) -> None:
    flight.first_token_at = time.perf_counter()
    attempt.answered()


def _forgiven(verdict: Verdict, origin: Origin, *, done: bool) -> Verdict:
    """Pass over the one mark of an end that this region's server is known to omit."""
    if origin.completeness == "no-done" and verdict.unfit == "stream cut: no end marker":
        return msgspec.structs.replace(verdict, unfit=None)
    if origin.completeness == "no-finish-reason" and done and verdict.unfit == "stream cut: not every choice finished":
        return msgspec.structs.replace(verdict, unfit=None)
    return verdict


def _broken(flight: Flight, attempt: Attempt, failure: AttemptFailed) -> None:
    """End an answer that broke: quietly for another origin to take over, honestly if something was passed on."""
    if not flight.committed or flight.region != attempt.origin.name:
        raise failure
    _end_broken(flight, attempt, failure.error)


def _end_broken(flight: Flight, attempt: Attempt, error: CallError, unfit: str | None = None) -> None:
    """Say that the answer broke off, and where it would be asked for next: two answers are never joined."""
    flight.unfit = unfit or error.message
    following = attempt.upcoming()
    if following is not None:
        hint = f"ask again: region {following!r} is next"
        error = CallError(error.message, status=error.status, code=error.code, hint=hint)
    flight.fail(error)


# --- whole answers ---


async def _read_whole(
    response: Response,
    attempt: Attempt,
    flight: Flight,
    headers: Headers,
    decoder: Inflater | None,
    content_type: str,
) -> Recording | None:
    origin, status = attempt.origin, response.status
    gathered: list[bytes] = []
    size = 0
    # Sound is listened to while it is made. A close that nobody announced may be its end or a cut: not to be kept.
    heard = status == 200 and content_type.startswith("audio/")
    proven = any(name in (b"content-length", b"transfer-encoding") for name, _ in response.headers)
    while True:
        try:
            chunk = await _next(response, decoder)
        except OriginFailure as error:
            _broken(flight, attempt, lost(origin, error))
            return None
        except ValueError as error:
            _broken(flight, attempt, bad_answer(origin, str(error)))
            return None
        if chunk is None:
            break
        size += len(chunk)
        if heard and not flight.committed:
            _claim(attempt, flight)
            _answered(attempt, flight)
            flight.passing = True
            flight.commit(status, headers, stream=False, content_type=content_type)
        if flight.committed:
            flight.recording = flight.recording and size <= RECORD_LIMIT
            flight.add(chunk)
            await flight.room()
            if not flight.recording:
                gathered.clear()
                continue
        gathered.append(chunk)
        if size > RECORD_LIMIT:
            if status >= 300:
                raise bad_answer(origin, f"status {status} with more than {RECORD_LIMIT} bytes")
            _claim(attempt, flight)
            _answered(attempt, flight)
            flight.recording = False
            flight.commit(status, headers, stream=False, content_type=content_type)
            for piece in gathered:
                flight.add(piece)
    if flight.committed and not flight.recording:
        flight.unfit = "larger than what is stored"
        return None
    body = b"".join(gathered)
    if flight.committed:
        verdict = attempt.dialect.judge(attempt.call, body)
        if not proven and verdict.unfit is None:
            verdict = Verdict(unfit="its end was not announced")
        return _whole(verdict, body, content_type, headers, status)
    if 300 <= status < 400:
        raise redirected(origin, status)
    if status >= 400:
        refused = CallError(f"region {origin.name!r} answered {status}", status=status, code="origin_error")
        raise AttemptFailed(str(status), refused, headers=headers, body=body)
    verdict = attempt.dialect.judge(attempt.call, body) if status == 200 else Verdict(unfit=f"status {status}")
    if verdict.error is not None:
        raise soft_error(origin, verdict, body)
    if verdict.unfit == "malformed answer":
        raise bad_answer(origin, "200 with an answer that is not JSON")
    _claim(attempt, flight)
    _answered(attempt, flight)
    flight.model, flight.usage = verdict.model, verdict.usage
    return _whole(verdict, body, content_type, headers, status)


def _whole(verdict: Verdict, body: bytes, content_type: str, headers: Headers, status: int) -> Recording:
    return Recording(
        status=status,
        verdict=verdict,
        body=body,
        stream=False,
        content_type=content_type or "application/json",
        headers=[(n.decode("latin-1"), v.decode("latin-1")) for n, v in headers],
    )
