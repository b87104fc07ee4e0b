"""Follow a messages stream: what each event brings, and whether the whole is complete."""

from __future__ import annotations

from typing import Any

import msgspec

from edgeinf.core.call import Usage
from edgeinf.core.dialects.base import (
    ANSWER,
    ERROR,
    NOTHING,
    TOKEN,
    Verdict,
    as_object,
    soft_error,
    str_or_none,
)
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["MessagesWatcher", "read_usage", "unfit_stop"]

# signature_delta signs thinking that was already streamed; it is no token of its own.
_DELTAS = {
    "text_delta": TOKEN | ANSWER,
    "thinking_delta": TOKEN,
    "input_json_delta": TOKEN,
    "citations_delta": NOTHING,
    "signature_delta": NOTHING,
}


def read_usage(usage: Any) -> Usage:
    """Read a usage object. The origin counts input apart from its cache; here input includes it."""
    usage = as_object(usage)
    counts = (usage.get(f"{name}_tokens") for name in ("input", "cache_read_input", "cache_creation_input", "output"))
    plain, read, written, output = (count if isinstance(count, int) else None for count in counts)
    return Usage(
        input_tokens=None if plain is None else plain + (read or 0) + (written or 0),
        output_tokens=output,
        cached_tokens=read,
        cache_write_tokens=written,
    )


def unfit_stop(stop_reason: Any) -> str | None:
    """Return why an answer with this stop reason may not be stored."""
    if stop_reason is None:
        return "no stop reason"
    return "paused turn" if stop_reason == "pause_turn" else None


class MessagesWatcher:
    """Knows when a messages stream is complete: every block closed, a stop reason, the end seen, no error."""

    def __init__(self) -> None:
        self._open: set[str] = set()
        self._stop_reason: Any = None
        self._ended = False
        self._malformed = False
        self._started = False
        self._error: JsonObject | None = None
        self._usage: JsonObject = {}
        self._model: str | None = None

    def feed(self, event: Event) -> int:
        try:
            data = as_object(msgspec.json.decode(event.data))
        except msgspec.DecodeError:
            self._malformed = True
            return NOTHING
        kind = data.get("type")
        if kind == "content_block_delta":
            delta = as_object(data.get("delta"))
            brings = _DELTAS.get(str(delta.get("type")))
            if brings is None:
                return TOKEN
            return brings if any(delta.get(name) for name in ("text", "thinking", "partial_json")) else NOTHING
        if event.name == b"error" or kind == "error" or data.get("error"):
            self._error = soft_error(data) or {"message": "the stream reported an error"}
            return ERROR
        if kind == "message_start":
            self._started = True
            message = as_object(data.get("message"))
            self._model = str_or_none(message.get("model"))
            self._usage.update(as_object(message.get("usage")))
        elif kind == "content_block_start":
            self._open.add(str(data.get("index")))
        elif kind == "content_block_stop":
            self._open.discard(str(data.get("index")))
        elif kind == "message_delta":
            self._stop_reason = as_object(data.get("delta")).get("stop_reason") or self._stop_reason
            said = as_object(data.get("usage"))
            self._usage.update({name: value for name, value in said.items() if value is not None})
        elif kind == "message_stop":
            self._ended = True
        return NOTHING

    def verdict(self) -> Verdict:
        return Verdict(unfit=self._unfit(), usage=read_usage(self._usage), model=self._model, error=self._error)

    def _unfit(self) -> str | None:
        if self._error is not None:
            return "error in the stream"
        if self._malformed:
            return "malformed event"
        if not self._started:
            return "no message"
        if not self._ended:
            return "stream cut: no end marker"
        if self._open:
            return "stream cut: a content block is open"
        return unfit_stop(self._stop_reason)
