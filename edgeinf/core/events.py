"""The record of one request: ``serve`` writes it, ``analyze`` reads it. One JSON object per line.

Prompts and answers are not in it; the keys alone say which requests were the same question. Fields are added, never
renamed: scripts outside this project read these lines.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["EVENT_VERSION", "REFRESH", "Event", "EventKeys", "EventScope", "decode", "encode"]

EVENT_VERSION = 1

REFRESH = "refresh"
"""The reason of a miss that no client asked for: a call behind a stale answer, which cost what it cost."""


class EventKeys(msgspec.Struct, frozen=True, kw_only=True):
    """One list per level, one name per key of the call; ``None`` where the level was not computed."""

    exact: list[str] | None = None
    safe: list[str] | None = None
    loose: list[str] | None = None
    masked: list[str] | None = None


class EventScope(msgspec.Struct, frozen=True, kw_only=True):
    """Who could share the answer; the id is hashed with the events' secret."""

    kind: str = "key"
    id: str = ""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One request. Times in the unit of the name; ``at`` is seconds since the epoch, UTC."""

    v: int = EVENT_VERSION
    id: str = ""
    at: float = 0.0
    dialect: str = ""
    model: str | None = None
    region: str | None = None
    tenant: str | None = None
    team: str | None = None
    key_id: str | None = None
    user: str | None = None
    session: str | None = None
    step: int | None = None
    route: str | None = None
    client_place: str | None = None
    stream: bool = False
    cache: str = "bypass"  # hit miss bypass stale collapsed
    tier: str | None = None
    reason: str | None = None  # why a bypass, why not stored; REFRESH
    age_s: float | None = None
    stored: bool = False
    level: str | None = None
    keys: EventKeys = EventKeys()
    hits: int = 0
    key_space: str | None = None
    scope: EventScope | None = None
    guard: list[str] | None = None
    prompt: str | None = None  # version of what rules added to the prompt
    status: int = 0
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    usd: float | None = None
    usd_saved: float | None = None
    edgeinf_ms: float | None = None
    ttft_ms: float | None = None
    total_ms: float | None = None
    attempts: int = 0
    trace_id: str | None = None
    request: Any = None  # only with events.bodies
    response: Any = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Event).decode


def encode(event: Event) -> bytes:
    """Write one event as a line, with its line end."""
    return _encode(event) + b"\n"


def decode(line: bytes) -> Event:
    """Read one line. Raise msgspec.DecodeError where it is no event."""
    return _decode(line)
