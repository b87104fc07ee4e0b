"""Spans of a request, kept as plain values until somebody exports them (W3C Trace Context, level 1)."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable
from typing import Protocol, TypeVar

import msgspec

from edgeinf.core.events import Event
from edgeinf.core.wire.headers import Headers
from edgeinf.serve.exchange import Exchange

__all__ = ["Finished", "Sink", "Span", "Trace", "Tracer", "read_traceparent", "traced"]

T = TypeVar("T")

_HEX = frozenset("0123456789abcdef")


class Trace(msgspec.Struct):
    """Where a request is in its trace: ``parent`` is the caller's span, ``span`` our own."""

    id: str
    span: str
    parent: str | None
    sampled: bool
    attempts: int = 0


class Span(msgspec.Struct):
    """A part of a request: a lookup or an attempt. Times are nanoseconds since the epoch."""

    trace: Trace
    id: str
    name: str
    start_ns: int
    end_ns: int = 0
    region: str = ""
    address: str = ""
    number: int = 0
    error: str | None = None


class Finished(msgspec.Struct):
    """A whole request."""

    trace: Trace
    event: Event
    method: str
    path: str


class Sink(Protocol):
    """Takes what is finished; must not block."""

    def put(self, item: Span | Finished) -> None:
        """Take a span or a request."""
        ...


class Tracer:
    """Gives requests their place in a trace. Does nothing that a request would notice."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def of(self, x: Exchange) -> Trace:
        """Return a request's place: in the caller's trace, or in a new one."""
        if x.trace is None:
            given = read_traceparent(x.header(b"traceparent"))
            trace_id, parent, sampled = given if given is not None else (os.urandom(16).hex(), None, True)
            x.trace = Trace(trace_id, os.urandom(8).hex(), parent, sampled)
        return x.trace

    def attempt(self, x: Exchange, region: str, base: str) -> Span:
        """Begin an attempt at an origin."""
        trace = self.of(x)
        trace.attempts += 1
        number = trace.attempts
        return Span(trace, os.urandom(8).hex(), "attempt", time.time_ns(), region=region, address=base, number=number)

    def end(self, span: Span, error: str | None = None) -> None:
        """End an attempt."""
        span.end_ns = time.time_ns()
        span.error = error
        if span.trace.sampled:
            self._sink.put(span)

    def finish(self, x: Exchange, event: Event) -> None:
        """End a request."""
        trace = self.of(x)
        if trace.sampled:
            self._sink.put(Finished(trace, event, x.method, x.path))

    async def looking(self, x: Exchange, lookup: Awaitable[T]) -> T:
        """Await a lookup in a span of its own."""
        span = Span(self.of(x), os.urandom(8).hex(), "cache lookup", time.time_ns())
        try:
            return await lookup
        finally:
            self.end(span)


def traced(headers: Headers, span: Span) -> Headers:
    """Return an attempt's headers with the attempt as the parent of what the origin does."""
    value = f"00-{span.trace.id}-{span.id}-{1 if span.trace.sampled else 0:02x}".encode()
    return [*(pair for pair in headers if pair[0] != b"traceparent"), (b"traceparent", value)]


def read_traceparent(text: str | None) -> tuple[str, str, bool] | None:
    """Return trace id, parent id and whether it is sampled; None where the header is absent or means nothing."""
    parts = (text or "").strip().split("-")
    if len(parts) < 4 or [len(part) for part in parts[:4]] != [2, 32, 16, 2]:
        return None
    version, trace_id, parent, flags = parts[:4]
    if not all(set(part) <= _HEX for part in parts[:4]) or version == "ff" or (version == "00" and len(parts) > 4):
        return None
    if not trace_id.strip("0") or not parent.strip("0"):
        return None
    return trace_id, parent, bool(int(flags, 16) & 1)
