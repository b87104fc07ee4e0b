"""Follow a Responses stream: what each event brings, and whether the whole is complete."""

from __future__ import annotations

from typing import Any

import msgspec

from edgeinf.core.call import Usage
from edgeinf.core.dialects.base import ANSWER, ERROR, NOTHING, TOKEN, Verdict, as_object, soft_error, str_or_none
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["ResponsesWatcher", "read_usage", "unfit_status"]

_SEEN = ("response.output_text.", "response.refusal.", "response.audio.", "response.audio_transcript.")
_TERMINAL = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


class _Data(msgspec.Struct):
    """The few fields of an event that decide anything; the response itself is read at the end only."""

    type: str = ""
    sequence_number: int | None = None
    delta: Any = None
    response: msgspec.Raw = msgspec.Raw(b"null")
    error: Any = None
    message: Any = None
    code: Any = None


_decode = msgspec.json.Decoder(_Data).decode


def read_usage(usage: Any) -> Usage:
    """Read a usage object; input includes cached tokens."""
    usage = as_object(usage)
    into = as_object(usage.get("input_tokens_details"))
    out = as_object(usage.get("output_tokens_details"))
    counts = (
        usage.get("input_tokens"),
        usage.get("output_tokens"),
        into.get("cached_tokens"),
        into.get("cache_write_tokens"),
        out.get("reasoning_tokens"),
    )
    known = [count if isinstance(count, int) and not isinstance(count, bool) else None for count in counts]
    return Usage(
        input_tokens=known[0],
        output_tokens=known[1],
        cached_tokens=known[2],
        cache_write_tokens=known[3],
        reasoning_tokens=known[4],
    )


def unfit_status(response: JsonObject) -> str | None:
    """Return why a response as it is may not be stored."""
    status = response.get("status")
    if status == "incomplete":
        reason = str_or_none(as_object(response.get("incomplete_details")).get("reason"))
        return f"incomplete: {reason}" if reason else "incomplete"
    if status != "completed":
        return f"status {status}" if isinstance(status, str) else "no status"
    if not response.get("output"):
        return "no output"
    return None


class ResponsesWatcher:
    """Knows when a Responses stream is complete: ``response.completed`` seen, no event missing, no error."""

    def __init__(self) -> None:
        self._next = 0
        self._holes = False
        self._malformed = False
        self._items = False
        self._response: JsonObject | None = None
        self._model: str | None = None
        self._error: JsonObject | None = None

    def feed(self, event: Event) -> int:
        if event.is_done:
            return NOTHING  # some servers send the end marker of chat too
        try:
            data = _decode(event.data)
        except msgspec.DecodeError:
            self._malformed = True
            return NOTHING
        if data.sequence_number is not None:
            self._holes = self._holes or data.sequence_number != self._next
            self._next = data.sequence_number + 1
        if data.error or data.type == "error" or event.name == b"error":
            self._error = soft_error({"error": data.error}) or {"message": data.message, "code": data.code}
            return ERROR
        if data.type in _TERMINAL:
            self._response = as_object(msgspec.json.decode(data.response))
            if data.type == "response.failed":
                self._error = soft_error(self._response) or {"message": "the response failed"}
                return ERROR
            return NOTHING
        if data.type == "response.created":
            self._model = str_or_none(as_object(msgspec.json.decode(data.response)).get("model"))
        elif data.type == "response.output_item.done":
            self._items = True
        elif data.type.endswith(".delta") and data.delta:
            return TOKEN | ANSWER if data.type.startswith(_SEEN) else TOKEN
        return NOTHING

    def verdict(self) -> Verdict:
        response = self._response or {}
        return Verdict(
            unfit=self._unfit(),
            usage=read_usage(response.get("usage")),
            model=str_or_none(response.get("model")) or self._model,
            error=self._error,
        )

    def _unfit(self) -> str | None:
        if self._error is not None:
            return "error in the stream"
        if self._malformed:
            return "malformed event"
        if self._response is None:
            return "stream cut: no end"
        if self._holes:
            return "stream cut: an event is missing"
        unfit = unfit_status(self._response)
        return None if unfit == "no output" and self._items else unfit
