"""Change what messages say. Blocks that go leave no hole: those after them are counted anew."""

from __future__ import annotations

from typing import Any

import msgspec

from edgeinf.core.dialects.base import as_object
from edgeinf.core.dialects.editing import Channel, Edits
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["MessagesEditor"]

_REASONING = ("thinking", "redacted_thinking")


class MessagesEditor:
    """Edits one message. What is added to its end is a block of its own, as only the last event tells the end."""

    def __init__(self, edits: Edits) -> None:
        self._edits = edits
        self._places: dict[int, int | None] = {}  # the origin's index -> the reader's, None where the block goes
        self._channels: dict[int, Channel] = {}
        self._next = 0
        self._spoke = False

    def event(self, event: Event) -> list[Event]:
        try:
            data = msgspec.json.decode(event.data)
        except msgspec.DecodeError:
            return [event]
        kind = data.get("type") if isinstance(data, dict) else None
        if kind == "content_block_start":
            return self._start(data)
        if kind == "content_block_delta":
            return self._continue(data)
        if kind == "content_block_stop":
            return self._stop(data)
        if kind == "message_delta":
            return [*self._ending(as_object(data.get("delta")).get("stop_reason")), event]
        return [event]

    def _start(self, data: JsonObject) -> list[Event]:
        index, block = data.get("index", 0), as_object(data.get("content_block"))
        if self._edits.strip_reasoning and block.get("type") in _REASONING:
            self._places[index] = None
            return []
        self._places[index] = place = self._next
        self._next += 1
        if block.get("type") == "text":
            self._channels[index] = self._edits.channel()
            if block.get("text"):
                block = {**block, "text": self._said(self._channels[index].feed(block["text"]))}
        return [_event({**data, "index": place, "content_block": block})]

    def _continue(self, data: JsonObject) -> list[Event]:
        index = data.get("index", 0)
        place = self._places.get(index, index)
        if place is None:
            return []
        delta = as_object(data.get("delta"))
        channel = self._channels.get(index)
        if channel is not None and delta.get("type") == "text_delta":
            text = self._said(channel.feed(delta.get("text", "")))
            if not text:
                return []
            delta = {**delta, "text": text}
        return [_event({**data, "index": place, "delta": delta})]

    def _stop(self, data: JsonObject) -> list[Event]:
        index = data.get("index", 0)
        place = self._places.get(index, index)
        if place is None:
            return []
        stop = _event({**data, "index": place})
        channel = self._channels.pop(index, None)
        rest = self._said(channel.close(footer=False)) if channel is not None else ""
        return [_text_delta(place, rest), stop] if rest else [stop]

    def _ending(self, reason: Any) -> list[Event]:
        if not self._edits.footer or not self._spoke or reason in (None, "tool_use"):
            return []
        place = self._next
        self._next += 1
        opened = {"type": "content_block_start", "index": place, "content_block": {"type": "text", "text": ""}}
        return [
            _event(opened),
            _text_delta(place, self._edits.footer),
            _event({"type": "content_block_stop", "index": place}),
        ]

    def _said(self, text: str) -> str:
        self._spoke = self._spoke or bool(text)
        return text

    def whole(self, document: JsonObject) -> JsonObject:
        content = document.get("content")
        if not isinstance(content, list):
            return document
        blocks = []
        for block in content:
            kind = as_object(block).get("type")
            if self._edits.strip_reasoning and kind in _REASONING:
                continue
            if kind == "text" and isinstance(block.get("text"), str):
                text = self._said(self._edits.channel().whole(block["text"], footer=False))
                block = {**block, "text": text}
            blocks.append(block)
        if self._edits.footer and self._spoke and document.get("stop_reason") not in (None, "tool_use"):
            blocks.append({"type": "text", "text": self._edits.footer})
        return {**document, "content": blocks}


def _event(data: JsonObject) -> Event:
    return Event(str(data["type"]).encode(), msgspec.json.encode(data))


def _text_delta(place: int, text: str) -> Event:
    delta = {"type": "text_delta", "text": text}
    return _event({"type": "content_block_delta", "index": place, "delta": delta})
