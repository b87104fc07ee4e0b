"""The values of a measurement: where to, what happened when, what went wrong."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["FAILURES", "Attempt", "Failure", "Instants", "Phase", "Target", "Timeouts", "milliseconds"]

Phase = Literal["preflight", "cold", "warm", "idle"]

# Each way to fail, with what it means; a failed attempt is counted and never enters a latency.
FAILURES: dict[str, str] = {
    "dns": "the name could not be resolved",
    "connect": "the connection was refused or the host unreachable",
    "connect_timeout": "no connection in time",
    "proxy": "the proxy refused the tunnel",
    "tls": "the TLS handshake or the certificate failed",
    "reset": "the connection was closed before any answer",
    "timeout": "no answer in time",
    "redirect": "a redirect, which is never followed",
    "auth": "status 401 or 403",
    "rate_limited": "status 429",
    "client_error": "another 4xx status",
    "server_error": "a 5xx status",
    "error_in_answer": "an error object inside a 200",
    "no_tokens": "a complete answer without any output",
    "stall": "output stopped and did not go on in time",
    "truncated": "the answer ended before its end",
    "protocol": "not HTTP or not the dialect",
    "dropped": "not sent when it was due: too many requests were in flight",
}


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """One place to measure. ``key`` is a credential: it is sent to ``url`` and shown nowhere."""

    name: str
    url: str
    dialect: str = "openai-chat"
    model: str = ""
    key: str | None = None
    key_env: str | None = None  # the variable that holds the key
    key_file: str | None = None
    serves: tuple[str, ...] = ()  # dialect families, where a config lists them
    headers: tuple[tuple[str, str], ...] = ()
    location: str | None = None

    def __repr__(self) -> str:
        return f"Target({self.name!r}, {self.url!r})"


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds: for a connection, until the first output, between outputs, for everything."""

    connect_s: float = 10.0
    first_s: float = 120.0
    idle_s: float = 60.0
    total_s: float = 600.0


class Instants(msgspec.Struct, kw_only=True):
    """Nanoseconds of ``perf_counter_ns``; None where it did not happen. ``dns`` is when resolving ended, and so on."""

    scheduled: int | None = None
    start: int = 0
    dns: int | None = None
    tcp: int | None = None
    proxy: int | None = None
    tls: int | None = None
    request_start: int | None = None
    request_written: int | None = None
    headers: int | None = None
    first_byte: int | None = None
    first_event: int | None = None
    first_token: int | None = None
    first_answer: int | None = None
    tokens: list[int] = []
    last_token: int | None = None
    done: int | None = None

    def relative_ms(self) -> dict[str, Any]:
        """Return every instant in milliseconds after ``start``."""
        out: dict[str, Any] = {}
        for field in self.__struct_fields__:
            value = getattr(self, field)
            if isinstance(value, list):
                out[field] = [milliseconds(self.start, v) for v in value]
            elif value is not None:
                out[field] = milliseconds(self.start, value)
        return out


class Attempt(msgspec.Struct, kw_only=True):
    """One request and what became of it. ``error`` is None or a key of ``FAILURES``."""

    target: str
    round: int
    phase: Phase
    at: float = 0.0  # wall clock, to file it under a time; never used for a duration
    instants: Instants
    error: str | None = None
    detail: str | None = None
    status: int | None = None
    http_version: str | None = None
    ip: str | None = None
    family: int | None = None
    connection: int = 0  # number of the connection within its target
    reused: bool = False
    streamed: bool = False
    model: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None  # by the server's usage
    reasoning_tokens: int | None = None
    reasoning_streamed: bool = False
    counted_tokens: int | None = None  # by our own tokenizer, from the text that was streamed
    first_chunk_tokens: int | None = None
    cached_tokens: int | None = None
    chunks: int = 0
    answered: bool = False  # some output was visible to a user
    full_reads: int = 0  # reads that filled the buffer: the client may have been the slower side
    certificate_expires: str | None = None
    open_loop: bool = False
    usd: float | None = None

    @property
    def ok(self) -> bool:
        """Return whether it succeeded, so that its times count."""
        return self.error is None


class Failure(Exception):
    """An attempt failed in a known way; caught where the attempt is recorded."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        assert kind in FAILURES
        self.kind = kind
        self.detail = detail
        self.ip: str | None = None  # where to, if it got so far
        self.family: int | None = None


def milliseconds(earlier: int, later: int) -> float:
    """Return the time between two instants."""
    return round((later - earlier) / 1e6, 6)
