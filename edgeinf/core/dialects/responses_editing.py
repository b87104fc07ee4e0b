"""Change what responses say. Items that go leave no hole, and events are numbered anew."""

from __future__ import annotations

from typing import Any

import msgspec

from edgeinf.core.dialects.base import as_object
from edgeinf.core.dialects.editing import Channel, Edits
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["ResponsesEditor"]


class ResponsesEditor:
    """Edits one response. Every text of the output is one for itself, with what is added to its two ends."""

    def __init__(self, edits: Edits) -> None:
        self._edits = edits
        self._places: dict[int, int | None] = {}  # the origin's output index -> the reader's, None where the item goes
        self._channels: dict[tuple[int, int], Channel] = {}
        self._next = 0
        self._number = 0

    def event(self, event: Event) -> list[Event]:
        if event.is_done:
            return [event]
        try:
            data = msgspec.json.decode(event.data)
        except msgspec.DecodeError:
            return [event]
        if not isinstance(data, dict):
            return [event]
        index = data.get("output_index")
        if isinstance(index, int):
            if data.get("type") == "response.output_item.added":
                self._place(index, as_object(data.get("item")))
            place = self._places.get(index, index)
            if place is None:
                return []
            edited = self._item_event(data, index)
            return [self._numbered(event.name, {**each, "output_index": place}) for each in edited]
        if isinstance(data.get("response"), dict):
            data = {**data, "response": self.whole(data["response"])}
        return [self._numbered(event.name, data)]

    def _place(self, index: int, item: JsonObject) -> None:
        if self._edits.strip_reasoning and item.get("type") == "reasoning":
            self._places[index] = None
        else:
            self._places[index] = self._next
            self._next += 1

    def _item_event(self, data: JsonObject, index: int) -> list[JsonObject]:
        kind = data.get("type")
        if kind == "response.output_text.delta" and isinstance(data.get("delta"), str):
            text = self._channel(data, index).feed(data["delta"])
            if not text:
                return []
            return [{**data, "delta": text, **({"logprobs": []} if self._edits.rewrites else {})}]
        if kind == "response.output_text.done" and isinstance(data.get("text"), str):
            rest = self._channel(data, index).close(footer=bool(data["text"]))
            self._channels.pop((index, data.get("content_index", 0)), None)
            done = self._part(data)
            if not rest:
                return [done]
            kept = ("item_id", "content_index", "sequence_number")
            at: JsonObject = {name: data[name] for name in kept if name in data}
            return [{"type": "response.output_text.delta", **at, "delta": rest, "logprobs": []}, done]
        if isinstance(data.get("part"), dict):
            return [{**data, "part": self._part(data["part"])}]
        if isinstance(data.get("item"), dict):
            return [{**data, "item": self._item(data["item"])}]
        return [data]

    def _channel(self, data: JsonObject, index: int) -> Channel:
        name = index, data.get("content_index", 0)
        if name not in self._channels:
            self._channels[name] = self._edits.channel()
        return self._channels[name]

    def _numbered(self, name: bytes, data: JsonObject) -> Event:
        if "sequence_number" in data:
            data = {**data, "sequence_number": self._number}
            self._number += 1
        kind = str(data["type"]).encode() if name and "type" in data else name
        return Event(kind, msgspec.json.encode(data))

    def whole(self, document: JsonObject) -> JsonObject:
        output = document.get("output")
        if not isinstance(output, list):
            return document
        kept = [
            self._item(item)
            for item in output
            if not (self._edits.strip_reasoning and as_object(item).get("type") == "reasoning")
        ]
        return {**document, "output": kept}

    def _item(self, item: Any) -> Any:
        content = as_object(item).get("content")
        if not isinstance(content, list) or item.get("type") != "message":
            return item
        return {**item, "content": [self._part(part) for part in content]}

    def _part(self, part: Any) -> Any:
        """Return a part, or an event that carries a part's whole text."""
        if as_object(part).get("type") not in ("output_text", "response.output_text.done"):
            return part
        text = part.get("text")
        if not isinstance(text, str):
            return part
        edited = {**part, "text": self._edits.channel().whole(text, footer=True) if text else text}
        return {**edited, "logprobs": []} if self._edits.rewrites and "logprobs" in edited else edited
