"""Short ways to make calls and events."""

from __future__ import annotations

import json
from typing import Any

from edgeinf.core.call import Call
from edgeinf.core.dialects import by_name
from edgeinf.core.dialects.base import Verdict
from edgeinf.core.wire.sse import Event

__all__ = ["ANTHROPIC", "CHAT", "call", "event", "followed", "named", "reasons"]

CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
ANTHROPIC: dict[str, Any] = {"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}


def call(name: str, body: dict[str, Any], path: str = "") -> Call:
    """Read a body in a dialect."""
    dialect = by_name(name)
    return dialect.read(path or sorted(dialect.paths)[0], "", body)


def reasons(name: str, body: dict[str, Any], path: str = "") -> list[str]:
    """Return why a body bypasses."""
    return by_name(name).bypass(call(name, body, path))


def event(data: Any) -> Event:
    """Return an event without a name; text stands as it is."""
    return Event(b"", (data if isinstance(data, str) else json.dumps(data)).encode())


def named(data: dict[str, Any]) -> Event:
    """Return an event named by its type."""
    return Event(data["type"].encode(), json.dumps(data).encode())


def followed(name: str, body: dict[str, Any], events: list[Event]) -> tuple[list[int], Verdict]:
    """Return what each event brought, and the verdict."""
    watcher = by_name(name).watch(call(name, body))
    return [watcher.feed(each) for each in events], watcher.verdict()
