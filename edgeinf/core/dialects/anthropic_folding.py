"""Between the events of a messages stream and the whole message, losing nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["fold_events", "unfold_message"]

# delta type -> (its field, the block's field that it continues)
_TEXTS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}
# What a delta of a compaction brings.
_COMPACTED = ("content", "encrypted_content")


def fold_events(events: Sequence[Event]) -> bytes:
    """Turn a complete messages stream into the message. Raise ValueError where it has none."""
    message: JsonObject | None = None
    blocks: dict[int, JsonObject] = {}
    arguments: dict[int, str] = {}
    for event in events:
        data = msgspec.json.decode(event.data)
        kind = data.get("type")
        if kind == "message_start":
            message = data["message"]
        elif kind == "content_block_start":
            blocks[data["index"]] = data["content_block"]
        elif kind == "content_block_delta":
            _continue(blocks[data["index"]], data["delta"], arguments, data["index"])
        elif kind == "message_delta" and message is not None:
            message.update(data.get("delta") or {})
            usage = message.setdefault("usage", {})
            usage.update({name: value for name, value in (data.get("usage") or {}).items() if value is not None})
            more = {k: v for k, v in data.items() if k not in ("type", "delta", "usage")}
            message.update(more)
    if message is None:
        raise ValueError("the stream has no message")
    for index, text in arguments.items():
        blocks[index]["input"] = msgspec.json.decode(text) if text else {}
    message["content"] = [blocks[index] for index in sorted(blocks)]
    return msgspec.json.encode(message)


def _continue(block: JsonObject, delta: JsonObject, arguments: dict[int, str], index: int) -> None:
    kind = delta.get("type", "")
    if kind in _TEXTS:
        field, target = _TEXTS[kind]
        block[target] = (block.get(target) or "") + delta.get(field, "")
    elif kind == "input_json_delta":
        arguments[index] = arguments.get(index, "") + delta.get("partial_json", "")
    elif kind == "citations_delta":
        block["citations"] = [*(block.get("citations") or []), delta["citation"]]
    elif kind == "compaction_delta":  # one, with all of it
        block.update({name: delta[name] for name in _COMPACTED if name in delta})
    else:
        raise ValueError(f"a delta of the unknown type {kind!r} cannot be folded")


def unfold_message(body: bytes) -> list[Event]:
    """Turn a whole message into its stream. Raise ValueError where it is no message."""
    message = msgspec.json.decode(body)
    if not isinstance(message, dict) or not isinstance(message.get("content"), list):
        raise ValueError("the answer is no message")
    content = message.pop("content")
    usage = message.pop("usage", None)
    ending = {name: message.get(name) for name in ("stop_reason", "stop_sequence")}
    ending.update({name: message[name] for name in ("container", "stop_details") if name in message})
    events: list[Event] = []

    def add(kind: str, **fields: Any) -> None:
        events.append(Event(kind.encode(), msgspec.json.encode({"type": kind, **fields})))

    start = {**message, "content": [], **dict.fromkeys(ending)}
    if usage is not None:
        start["usage"] = {**usage, "output_tokens": min(1, usage.get("output_tokens") or 0)}
    add("message_start", message=start)
    for index, block in enumerate(content):
        opened, deltas = _opened(block)
        add("content_block_start", index=index, content_block=opened)
        for delta in deltas:
            add("content_block_delta", index=index, delta=delta)
        add("content_block_stop", index=index)
    add("message_delta", delta=ending, **({} if usage is None else {"usage": usage}))
    add("message_stop")
    return events


def _opened(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """Return a block as it opens and the deltas that fill it; a kind without deltas opens complete."""
    kind = block.get("type")
    if kind == "text":
        deltas = [{"type": "citations_delta", "citation": c} for c in block.get("citations") or ()]
        opened = {**block, "text": ""}
        if deltas:
            opened["citations"] = []
        return opened, [{"type": "text_delta", "text": block.get("text", "")}, *deltas]
    if kind == "thinking":
        filled: list[JsonObject] = [{"type": "thinking_delta", "thinking": block.get("thinking", "")}]
        if block.get("signature"):
            filled.append({"type": "signature_delta", "signature": block["signature"]})
        return {**block, "thinking": "", "signature": ""}, filled
    if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
        text = msgspec.json.encode(block.get("input") or {}).decode()
        return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": text}]
    if kind == "compaction":
        said = {name: block[name] for name in _COMPACTED if name in block}
        return {**block, **dict.fromkeys(said)}, [{"type": "compaction_delta", **said}]
    return block, []
