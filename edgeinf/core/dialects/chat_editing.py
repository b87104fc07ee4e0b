"""Change what chat completions and completions say."""

from __future__ import annotations

from typing import Any

import msgspec

from edgeinf.core.dialects.base import as_object
from edgeinf.core.dialects.editing import Channel, Edits, without_reasoning
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["ChatEditor"]

_TOOLS = ("tool_calls", "function_call")


class ChatEditor:
    """Edits an answer with choices; ``completions`` keep their text in the choice itself."""

    def __init__(self, edits: Edits, *, completions: bool = False) -> None:
        self._edits = edits
        self._field = "text" if completions else "content"
        self._delta = None if completions else "delta"
        self._channels: dict[int, Channel] = {}
        self._last: JsonObject = {}

    def event(self, event: Event) -> list[Event]:
        if event.is_done:
            # Choices that never finished: what is held back of them is all that there will be.
            rest = [e for index in list(self._channels) for e in self._tail(index, footer=False)]
            return [*rest, event]
        try:
            chunk = msgspec.json.decode(event.data)
        except msgspec.DecodeError:
            return [event]
        if not isinstance(chunk, dict) or not isinstance(chunk.get("choices"), list):
            return [event]
        self._last = chunk
        before: list[Event] = []
        choices = [self._choice(choice, before) for choice in chunk["choices"]]
        kept = [choice for choice in choices if choice is not None]
        if chunk["choices"] and not kept and chunk.get("usage") is None:
            return before
        return [*before, Event(event.name, msgspec.json.encode({**chunk, "choices": kept}))]

    def _choice(self, choice: Any, before: list[Event]) -> JsonObject | None:
        """Return an edited choice, or None where nothing is left of it."""
        if not isinstance(choice, dict):
            return None
        index = choice.get("index", 0)
        holder = choice if self._delta is None else as_object(choice.get(self._delta))
        edited = without_reasoning(holder) if self._edits.strip_reasoning else holder
        text = edited.get(self._field)
        if isinstance(text, str) and text:
            if index not in self._channels:
                self._channels[index] = self._edits.channel()
            edited = {**edited, self._field: self._channels[index].feed(text)}
        finish = edited.get("finish_reason") if self._delta is None else choice.get("finish_reason")
        if finish:
            before += self._tail(index, footer=finish not in _TOOLS)
        elif edited is not holder and not any(value for name, value in edited.items() if name != "index"):
            return None
        shown: JsonObject = edited if self._delta is None else {**choice, self._delta: edited}
        if self._edits.rewrites and shown.get("logprobs") is not None:
            shown = {**shown, "logprobs": None}
        return shown

    def _tail(self, index: int, *, footer: bool) -> list[Event]:
        """Return the chunk that brings the rest of a choice's text."""
        channel = self._channels.pop(index, None)
        text = channel.close(footer=footer) if channel is not None else ""
        if not text:
            return []
        said = {self._field: text}
        choice = {"index": index, **(said if self._delta is None else {self._delta: said}), "finish_reason": None}
        head = {name: value for name, value in self._last.items() if name not in ("choices", "usage")}
        return [Event(b"", msgspec.json.encode({**head, "choices": [choice]}))]

    def whole(self, document: JsonObject) -> JsonObject:
        choices = document.get("choices")
        if not isinstance(choices, list):
            return document
        return {**document, "choices": [self._whole_choice(choice) for choice in choices]}

    def _whole_choice(self, choice: Any) -> Any:
        if not isinstance(choice, dict):
            return choice
        holder = choice if self._delta is None else as_object(choice.get("message"))
        edited = without_reasoning(holder) if self._edits.strip_reasoning else holder
        text = edited.get(self._field)
        if isinstance(text, str) and text:
            footer = choice.get("finish_reason") not in _TOOLS
            edited = {**edited, self._field: self._edits.channel().whole(text, footer=footer)}
        choice = edited if self._delta is None else {**choice, "message": edited}
        return {**choice, "logprobs": None} if self._edits.rewrites and choice.get("logprobs") is not None else choice
