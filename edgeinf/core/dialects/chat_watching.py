"""Follow a stream of chat or completion chunks: what each brings, and whether the whole is complete."""

from __future__ import annotations

from typing import Any

import msgspec

from edgeinf.core.dialects.base import ANSWER, ERROR, NOTHING, TOKEN, Verdict, soft_error
from edgeinf.core.dialects.openai_common import read_usage, unfit_finish
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["ChatWatcher"]

# Deltas whose presence is output of the model; the first group is what the user reads or hears.
_SEEN = ("content", "refusal", "audio")
_WORKING = ("reasoning_content", "reasoning", "reasoning_details", "tool_calls", "function_call")


class _Chunk(msgspec.Struct):
    """The few fields of a chunk that decide anything; everything else is skipped while decoding."""

    choices: list[JsonObject] | None = None
    usage: JsonObject | None = None
    model: str | None = None
    error: Any = None


_decode_chunk = msgspec.json.Decoder(_Chunk, strict=False).decode


def _brings(delta: Any) -> int:
    if not isinstance(delta, dict):
        return NOTHING
    for field in _SEEN:
        if delta.get(field):
            return TOKEN | ANSWER
    for field in _WORKING:
        if delta.get(field):
            return TOKEN
    return NOTHING


class ChatWatcher:
    """Knows when a chat stream is complete: every choice finished, the end marker seen, no error."""

    def __init__(self, choices: int) -> None:
        self._wanted = choices
        self._finished: set[int] = set()
        self._unfit_finish: str | None = None
        self._done = False
        self._seen_choice = False
        self._usage: JsonObject | None = None
        self._model: str | None = None
        self._error: JsonObject | None = None
        self._malformed = False

    def feed(self, event: Event) -> int:
        if event.is_done:
            self._done = True
            return NOTHING
        try:
            chunk = _decode_chunk(event.data)
        except msgspec.DecodeError:
            self._malformed = True
            return NOTHING
        if chunk.error or event.name == b"error":
            self._error = soft_error({"error": chunk.error}) or {"message": "the stream reported an error"}
            return ERROR
        if chunk.usage is not None:
            self._usage = chunk.usage
        if self._model is None:
            self._model = chunk.model
        brings = NOTHING
        for choice in chunk.choices or ():
            self._seen_choice = True
            finish = choice.get("finish_reason")
            if finish:
                index = choice.get("index", 0)
                self._finished.add(index if isinstance(index, int) else -1)
                self._unfit_finish = self._unfit_finish or unfit_finish(choice)
            brings |= _brings(choice.get("delta"))
            if choice.get("text"):
                brings |= TOKEN | ANSWER
        return brings

    def verdict(self) -> Verdict:
        return Verdict(unfit=self._unfit(), usage=read_usage(self._usage), model=self._model, error=self._error)

    def _unfit(self) -> str | None:
        if self._error is not None:
            return "error in the stream"
        if self._malformed:
            return "malformed event"
        if not self._seen_choice:
            return "no choices"
        if len(self._finished) < self._wanted:
            return "stream cut: not every choice finished"
        if self._unfit_finish is not None:
            return self._unfit_finish
        return None if self._done else "stream cut: no end marker"
