"""Headers that name one request, or its place in a trace: two requests that differ in nothing else ask the same.

Instrumented clients send them with every request. No answer of ours depends on one, unless the config names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from edgeinf.core.config.schema import Config

__all__ = ["RequestNames", "trace_id"]

_NAMES = (
    "x-request-id",
    "x-correlation-id",
    "idempotency-key",
    "traceparent",
    "tracestate",
    "x-amzn-trace-id",
    "x-cloud-trace-context",
)


class RequestNames:
    """Those that a config does not name anywhere, whatever for; ``read`` are header names that its files name."""

    def __init__(self, config: Config, read: Iterable[str] = ()) -> None:
        said = " ".join((repr(config), *read)).lower()
        self._passing = tuple(name.encode() for name in _NAMES if name not in said)
        # A line of visible ASCII and no more: what a parser could refuse or join with the next line is left in.
        names = b"|".join(map(re.escape, self._passing))
        self._line = re.compile(rb"(\r\n(?:%b):[ \t]?[!-~]{0,512})(?=\r\n[^ \t])" % names, re.IGNORECASE)

    def part(self, request: bytes) -> tuple[bytes, list[bytes]]:
        """Return a whole request's bytes without those lines of its head, and the lines."""
        head = request.find(b"\r\n\r\n") + 3
        said = request[:head]
        lowered = said.lower()  # most have none of them, and this is found out sooner than by the pattern
        if head < 3 or not any(name in lowered for name in self._passing):
            return request, []
        pieces = self._line.split(said)
        if len(pieces) == 1:
            return request, []
        return b"".join((*pieces[::2], request[head:])), pieces[1::2]


def trace_id(traceparent: str | None) -> str | None:
    """Return the trace that a ``traceparent`` names (W3C Trace Context), or None."""
    parts = (traceparent or "").split("-")
    return parts[1] if len(parts) == 4 and len(parts[1]) == 32 else None
