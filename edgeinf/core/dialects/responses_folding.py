"""Between the events of a Responses stream and the whole response.

Folding is easy, because the last event carries the response. Unfolding makes the events that the API would have sent,
with one delta per text: every item is added, filled and done; kinds of items without deltas are added whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["fold_response", "unfold_response"]

_ENDINGS = {
    "completed": "response.completed",
    "incomplete": "response.incomplete",
    "failed": "response.failed",
}
# kind of item -> (its field that is streamed, the events' name)
_STREAMED = {
    "function_call": ("arguments", "function_call_arguments"),
    "custom_tool_call": ("input", "custom_tool_call_input"),
    "mcp_call": ("arguments", "mcp_call_arguments"),
}
# kind of content part -> (its text, the events' name)
_PARTS = {
    "output_text": ("text", "output_text"),
    "refusal": ("refusal", "refusal"),
    "reasoning_text": ("text", "reasoning_text"),
}


class _Ending(msgspec.Struct):
    type: str = ""
    response: msgspec.Raw = msgspec.Raw(b"null")
    item: msgspec.Raw = msgspec.Raw(b"null")


_decode = msgspec.json.Decoder(_Ending).decode


def fold_response(events: Sequence[Event]) -> bytes:
    """Return the response that a complete stream ends with. Raise ValueError where it has none."""
    items: list[msgspec.Raw] = []
    for event in events:
        if event.is_done:
            continue
        data = _decode(event.data)
        if data.type == "response.output_item.done":
            items.append(data.item)
        if data.type in _ENDINGS.values():
            response = msgspec.json.decode(data.response)
            if not isinstance(response, dict):
                break
            if response.get("output") or not items:
                return bytes(data.response)
            # some servers leave the items out of the last event
            return msgspec.json.encode({**response, "output": items})
    raise ValueError("the stream has no response")


def unfold_response(body: bytes) -> list[Event]:
    """Turn a response into its stream, numbered from 0 without holes. Raise ValueError where it is none."""
    response = msgspec.json.decode(body)
    if not isinstance(response, dict) or not isinstance(response.get("output"), list):
        raise ValueError("the answer is no response")
    ending = _ENDINGS.get(response.get("status", "completed"))
    if ending is None:
        raise ValueError(f"a response of status {response['status']!r} has no stream")
    stream = _Stream()
    begun = {**response, "status": "in_progress", "output": []}
    for field, silent in (("usage", None), ("incomplete_details", None), ("error", None), ("completed_at", None)):
        if field in begun:
            begun[field] = silent
    stream.add("response.created", response=begun)
    stream.add("response.in_progress", response=begun)
    for index, item in enumerate(response["output"]):
        _unfold_item(stream, index, item)
    stream.add(ending, response=response)
    return stream.events


class _Stream:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, kind: str, **fields: Any) -> None:
        data = {"type": kind, "sequence_number": len(self.events), **fields}
        self.events.append(Event(kind.encode(), msgspec.json.encode(data)))


def _unfold_item(stream: _Stream, index: int, item: JsonObject) -> None:
    kind = item.get("type", "")
    opened = {**item, "status": "in_progress"} if "status" in item else dict(item)
    field, name = _STREAMED.get(kind, ("", ""))
    if field:
        opened[field] = ""
    for emptied in ("content", "summary"):
        if isinstance(item.get(emptied), list):
            opened[emptied] = []
    at = {"item_id": item.get("id", ""), "output_index": index}
    stream.add("response.output_item.added", output_index=index, item=opened)
    if field:
        text = item.get(field) or ""
        stream.add(f"response.{name}.delta", **at, delta=text)
        stream.add(f"response.{name}.done", **at, **{field: text})
    for number, part in enumerate(item.get("summary") or ()):
        _unfold_summary(stream, {**at, "summary_index": number}, part)
    content = item.get("content")
    for number, part in enumerate(content if isinstance(content, list) else ()):
        _unfold_part(stream, {**at, "content_index": number}, part)
    stream.add("response.output_item.done", output_index=index, item=item)


def _unfold_summary(stream: _Stream, at: JsonObject, part: JsonObject) -> None:
    text = part.get("text", "")
    stream.add("response.reasoning_summary_part.added", **at, part={**part, "text": ""})
    stream.add("response.reasoning_summary_text.delta", **at, delta=text)
    stream.add("response.reasoning_summary_text.done", **at, text=text)
    stream.add("response.reasoning_summary_part.done", **at, part=part)


def _unfold_part(stream: _Stream, at: JsonObject, part: JsonObject) -> None:
    field, name = _PARTS.get(part.get("type", ""), ("", ""))
    if not field:
        stream.add("response.content_part.added", **at, part=part)
        stream.add("response.content_part.done", **at, part=part)
        return
    text = part.get(field, "")
    opened = {**part, field: ""}
    for emptied in ("annotations", "logprobs"):
        if isinstance(part.get(emptied), list):
            opened[emptied] = []
    more = {"logprobs": part.get("logprobs") or []} if name == "output_text" else {}
    stream.add("response.content_part.added", **at, part=opened)
    stream.add(f"response.{name}.delta", **at, delta=text, **more)
    for number, annotation in enumerate(part.get("annotations") or ()):
        added = "response.output_text.annotation.added"
        stream.add(added, **at, annotation_index=number, annotation=annotation)
    stream.add(f"response.{name}.done", **at, **{field: text}, **more)
    stream.add("response.content_part.done", **at, part=part)
