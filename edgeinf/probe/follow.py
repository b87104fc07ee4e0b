"""Follow one answer: what came when, and whether it was an answer at all."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from edgeinf.core.dialects import by_name
from edgeinf.core.dialects.base import ANSWER, TOKEN, Dialect, Verdict
from edgeinf.core.dialects.delta_text import delta_text
from edgeinf.core.redact import redact
from edgeinf.core.tokens import count
from edgeinf.core.wire.sse import Decoder, Event
from edgeinf.probe.exchange import Body, End, Head, Pace, Part
from edgeinf.probe.request import Request
from edgeinf.probe.values import Attempt, Failure

__all__ = ["follow"]

_DETAIL = 300


def follow(
    attempt: Attempt, request: Request, parts: Iterator[Part], pace: Pace, collected: bytearray | None = None
) -> None:
    """Read an answer into ``attempt``. Raise Failure for what must not count as one."""
    head = next(parts)
    assert isinstance(head, Head)
    attempt.status, attempt.http_version = head.status, head.version
    if request.call is None or head.status != 200:
        body = _drain(attempt, parts)
        if request.call is not None:
            raise _refused(head, body)
        if collected is not None:
            collected += body
        return
    dialect = by_name(request.call.dialect)
    if head.headers.get("content-type", "").startswith("text/event-stream"):
        attempt.streamed = True
        _stream(attempt, request, dialect, parts, pace)
        return
    body = _drain(attempt, parts, pace)
    verdict = dialect.judge(request.call, body)
    _conclude(attempt, verdict, whole=True)
    attempt.answered = True


def _drain(attempt: Attempt, parts: Iterator[Part], pace: Pace | None = None) -> bytes:
    out = bytearray()
    for part in parts:
        if isinstance(part, Body):
            attempt.instants.first_byte = attempt.instants.first_byte or part.stamp
            out += part.data
            if pace is not None:
                pace.progress(part.stamp)
        elif isinstance(part, End):
            attempt.instants.done = part.stamp
    return bytes(out)


def _refused(head: Head, body: bytes) -> Failure:
    status = head.status
    if 300 <= status < 400:
        where = redact(head.headers.get("location", "nowhere")).split("?")[0]
        return Failure("redirect", f"{status} to {where[:_DETAIL]}")
    said = redact(" ".join(body[:2000].decode("utf-8", "replace").split()))[:_DETAIL]
    wait = head.headers.get("retry-after")
    detail = f"{status}{f', retry after {wait}' if wait else ''}: {said}"
    if status in (401, 403):
        return Failure("auth", detail)
    if status == 429:
        return Failure("rate_limited", detail)
    return Failure("server_error" if status >= 500 else "client_error" if status >= 400 else "protocol", detail)


def _stream(attempt: Attempt, request: Request, dialect: Dialect, parts: Iterator[Part], pace: Pace) -> None:
    assert request.call is not None
    instants, decoder, watcher = attempt.instants, Decoder(), dialect.watch(request.call)
    brought: list[Event] = []
    failure: Failure | None = None
    try:
        for part in parts:
            if isinstance(part, End):
                instants.done = part.stamp
            elif isinstance(part, Body):
                instants.first_byte = instants.first_byte or part.stamp
                for event in decoder.feed(part.data):
                    _note(attempt, watcher.feed(event), part.stamp, event, brought)
                if attempt.instants.last_token == part.stamp:
                    pace.progress(part.stamp)
                if instants.tokens and watcher.verdict().unfit is None:
                    pace.finished(part.stamp)
    except Failure as error:
        failure = error
    except ValueError as error:
        failure = Failure("protocol", str(error))
    verdict = watcher.verdict()
    _count(attempt, dialect.name, request.call.model, brought)
    if failure is not None and not (verdict.unfit is None and instants.tokens):
        attempt.chunks = len(instants.tokens)
        _say_usage(attempt, verdict)
        if verdict.error is not None:
            raise _error_inside(verdict)
        raise failure
    _conclude(attempt, verdict, whole=False)


def _note(attempt: Attempt, brings: int, stamp: int, event: Event, brought: list[Event]) -> None:
    instants = attempt.instants
    instants.first_event = instants.first_event or stamp
    if brings & TOKEN:
        instants.first_token = instants.first_token or stamp
        instants.last_token = stamp
        instants.tokens.append(stamp)
        brought.append(event)
    if brings & ANSWER:
        instants.first_answer = instants.first_answer or stamp
        attempt.answered = True


def _conclude(attempt: Attempt, verdict: Verdict, *, whole: bool) -> None:
    """Take the dialect's verdict; raise Failure where the answer is none."""
    _say_usage(attempt, verdict)
    if verdict.error is not None:
        raise _error_inside(verdict)
    unfit = verdict.unfit or ""
    if unfit.startswith("malformed"):
        raise Failure("protocol", unfit)
    if "cut" in unfit or unfit == "not every choice finished":
        raise Failure("truncated", unfit)
    if whole and unfit.startswith("no "):
        raise Failure("no_tokens", unfit)
    if not whole and not attempt.instants.tokens:
        raise Failure("no_tokens", "a stream without any output")


def _say_usage(attempt: Attempt, verdict: Verdict) -> None:
    attempt.model = verdict.model
    attempt.chunks = len(attempt.instants.tokens)
    attempt.input_tokens = verdict.usage.input_tokens
    attempt.output_tokens = verdict.usage.output_tokens
    attempt.reasoning_tokens = verdict.usage.reasoning_tokens
    attempt.cached_tokens = verdict.usage.cached_tokens


def _error_inside(verdict: Verdict) -> Failure:
    said = redact(msgspec.json.encode(verdict.error).decode())
    return Failure("error_in_answer", said[:_DETAIL])


def _count(attempt: Attempt, dialect: str, model: str, events: list[Event]) -> None:
    """Count tokens by our own tokenizer, from the text that was streamed, after the clock has stopped."""
    texts = [delta_text(dialect, event) for event in events]
    attempt.reasoning_streamed = any(thinking for thinking, _ in texts)
    whole = "".join(thinking + other for thinking, other in texts)
    if whole:
        attempt.counted_tokens = count(model, whole).tokens
        attempt.first_chunk_tokens = count(model, "".join(texts[0])).tokens
