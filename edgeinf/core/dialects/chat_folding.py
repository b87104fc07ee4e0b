"""Between the chunks of a chat stream and the whole completion, losing nothing.

Folding follows the shape of the chunks, not a list of fields: texts are joined, lists with an ``index`` are merged
by it, other lists are appended, objects are merged, and what is said once stays as it was last said.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import DONE, Event

__all__ = ["fold_chunks", "gathered", "merge_delta", "set_field", "unfold_message"]

# Fields of a delta that name a thing rather than continue a text; some servers repeat them in every chunk.
_SAID_ONCE = frozenset({"role", "id", "type", "index", "name", "format", "call_id", "object"})


def merge_delta(into: JsonObject, delta: JsonObject) -> None:
    """Add a delta to what has been gathered so far, in place."""
    for field, value in delta.items():
        before = into.get(field)
        if value is None:
            into.setdefault(field, None)
        elif isinstance(value, str) and isinstance(before, str) and field not in _SAID_ONCE:
            into[field] = _joined_data(before, value) if field == "data" else before + value
        elif isinstance(value, dict):
            target = before if isinstance(before, dict) else into.setdefault(field, {}) or {}
            into[field] = target
            merge_delta(target, value)
        elif isinstance(value, list):
            items = before if isinstance(before, list) else []
            into[field] = items
            for item in value:
                _merge_item(items, item)
        else:
            into[field] = value


def _joined_data(before: str, more: str) -> str:
    """Return two pieces of data in base64 as one: where the first is padded, they do not follow on each other."""
    if not before.endswith("="):
        return before + more
    try:
        data = base64.b64decode(before, validate=True) + base64.b64decode(more, validate=True)
    except binascii.Error:
        return before + more
    return base64.b64encode(data).decode()


def _merge_item(items: list[Any], item: Any) -> None:
    if isinstance(item, dict) and isinstance(item.get("index"), int):
        for present in items:
            if isinstance(present, dict) and present.get("index") == item["index"]:
                merge_delta(present, item)
                return
        fresh: JsonObject = {}
        merge_delta(fresh, item)
        items.append(fresh)
    else:
        items.append(item)


def fold_chunks(events: Sequence[Event]) -> bytes:
    """Turn the events of a complete chat stream into a ``chat.completion``. Raise ValueError if there are none."""
    whole, choices = gathered(events, _fold_choice)
    whole.pop("object", None)
    document = {"id": whole.pop("id", None), "object": "chat.completion", **whole}
    document["choices"] = [_finished(choice) for choice in choices]
    return msgspec.json.encode(document)


def gathered(
    events: Sequence[Event], fold_choice: Callable[[JsonObject, JsonObject], None]
) -> tuple[JsonObject, list[JsonObject]]:
    """Return the fields beside the choices as they were last said, and the choices in order, each folded.

    Raise ValueError if there are none.
    """
    whole: JsonObject = {}
    choices: dict[int, JsonObject] = {}
    for event in events:
        if event.data.startswith(DONE):
            continue
        chunk = msgspec.json.decode(event.data)
        if not isinstance(chunk, dict):
            raise ValueError("an event of the stream is no object")
        for field, value in chunk.items():
            if field not in ("choices", "obfuscation") and (value is not None or field not in whole):
                whole[field] = value
        for choice in chunk.get("choices") or ():
            fold_choice(choices.setdefault(choice.get("index", 0), {}), choice)
    if not choices:
        raise ValueError("the stream has no choices")
    if whole.get("usage") is None:
        whole.pop("usage", None)
    return whole, [choices[index] for index in sorted(choices)]


def _fold_choice(into: JsonObject, choice: JsonObject) -> None:
    for field, value in choice.items():
        if field == "delta":
            if isinstance(value, dict):
                merge_delta(into.setdefault("message", {}), value)
        else:
            set_field(into, field, value)


def set_field(into: JsonObject, field: str, value: Any) -> None:
    """Set what is said of a choice besides its text: lists go on, what has fields keeps them, the rest is said once."""
    before = into.get(field)
    if isinstance(value, list) and isinstance(before, list):
        before.extend(value)
    elif isinstance(value, dict):
        target = into[field] = before if isinstance(before, dict) else {}
        for name, said in value.items():
            set_field(target, name, said)
    elif value is not None or field not in into:
        into[field] = value


def _finished(choice: JsonObject) -> JsonObject:
    """Give a gathered choice the shape of a whole answer: tool calls there carry no index."""
    message = choice.setdefault("message", {})
    message.setdefault("role", "assistant")
    message.setdefault("content", None)
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        ordered = sorted(calls, key=lambda call: call.get("index", 0) if isinstance(call, dict) else 0)
        message["tool_calls"] = [
            {field: value for field, value in call.items() if field != "index"} if isinstance(call, dict) else call
            for call in ordered
        ]
    return choice


def unfold_message(body: bytes) -> list[Event]:
    """Turn a ``chat.completion`` into chunks: per choice a role, its message, its finish; then usage and the end."""
    whole = msgspec.json.decode(body)
    if not isinstance(whole, dict) or not isinstance(whole.get("choices"), list):
        raise ValueError("the answer is no chat completion")
    usage = whole.pop("usage", None)
    choices = whole.pop("choices")
    head = {**whole, "object": "chat.completion.chunk"}
    events: list[Event] = []

    def add(choices: list[JsonObject], **more: Any) -> None:
        events.append(Event(b"", msgspec.json.encode({**head, "choices": choices, **more})))

    for choice in choices:
        index = choice.get("index", 0)
        message = dict(choice.get("message") or {})
        rest = {k: v for k, v in choice.items() if k not in ("index", "message", "finish_reason", "logprobs")}
        role = {
            "role": message.pop("role", "assistant"),
            **{k: None for k, v in message.items() if v is None},
        }
        add([{"index": index, "delta": role, "finish_reason": None}])
        body_delta = {k: v for k, v in message.items() if v is not None}
        if isinstance(body_delta.get("tool_calls"), list):
            body_delta["tool_calls"] = [{"index": i, **call} for i, call in enumerate(body_delta["tool_calls"])]
        if body_delta or choice.get("logprobs") is not None:
            spoken = {"index": index, "delta": body_delta, "finish_reason": None}
            add([{**spoken, "logprobs": choice["logprobs"]} if "logprobs" in choice else spoken])
        last: JsonObject = {"index": index, "delta": {}, **rest, "finish_reason": choice.get("finish_reason")}
        if "logprobs" in choice:
            last["logprobs"] = None
        add([last])
    if usage is not None:
        add([], usage=usage)
    events.append(Event(b"", DONE))
    return events
