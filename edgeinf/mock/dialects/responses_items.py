"""The output items of a Responses answer: each as a whole, and as the events that build it up."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import msgspec

from edgeinf.mock.content import Content, ToolPart, group
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind

__all__ = ["Item", "Part", "items_of"]


class Part(msgspec.Struct):
    """One event of an item, without its number and the item's index."""

    name: str
    body: dict[str, Any]
    kind: Kind
    tokens: int = 0


class Item(msgspec.Struct):
    """An output item and its events."""

    whole: dict[str, Any]
    parts: list[Part]


def items_of(ask: Ask, shape: Shape, content: Content) -> list[Item]:
    """Return the items of an answer in their order: reasoning, message, tool calls."""
    items = []
    if content.reasoning:
        items.append(_reasoning(ask, shape, content))
    if content.text or content.refusal or not content.tools:
        items.append(_message(ask, shape, content))
    items += [_tool(ask, position, tool) for position, tool in enumerate(content.tools)]
    return items


def _wrapped(started: dict[str, Any], whole: dict[str, Any], inner: Iterator[Part]) -> Item:
    added = Part("response.output_item.added", {"item": started}, Kind.OPEN)
    done = Part("response.output_item.done", {"item": whole}, Kind.MARK)
    return Item(whole, [added, *inner, done])


def _message(ask: Ask, shape: Shape, content: Content) -> Item:
    refused = bool(content.refusal)
    text = "".join(content.refusal if refused else content.text)
    identity = f"msg_{ask.identity}"
    part: dict[str, Any] = {"type": "refusal", "refusal": text}
    if not refused:
        part = {"type": "output_text", "annotations": list(shape.annotations), "logprobs": [], "text": text}
    whole = {
        "id": identity,
        "type": "message",
        "status": "incomplete" if content.finish in ("length", "content_filter") else "completed",
        "role": "assistant",
        "content": [part],
    }
    started = {**whole, "status": "in_progress", "content": []}
    where = {"item_id": identity, "content_index": 0}
    name = "refusal" if refused else "output_text"
    field = "refusal" if refused else "text"

    def inner() -> Iterator[Part]:
        empty = {**part, field: "", **({} if refused else {"annotations": []})}
        yield Part("response.content_part.added", {**where, "part": empty}, Kind.OPEN)
        deltas = [(token, 1) for token in content.refusal] if refused else group(content.text, shape)
        more: dict[str, Any] = {} if refused else {"logprobs": []}
        for delta, tokens in deltas:
            yield Part(f"response.{name}.delta", {**where, "delta": delta, **more}, Kind.TOKEN, tokens)
        for index, annotation in enumerate(shape.annotations if not refused else ()):
            body = {**where, "annotation_index": index, "annotation": annotation}
            yield Part("response.output_text.annotation.added", body, Kind.SIDE)
        yield Part(f"response.{name}.done", {**where, field: text, **more}, Kind.MARK)
        yield Part("response.content_part.done", {**where, "part": part}, Kind.MARK)

    return _wrapped(started, whole, inner())


def _reasoning(ask: Ask, shape: Shape, content: Content) -> Item:
    text = "".join(content.reasoning)
    identity = f"rs_{ask.identity}"
    part = {"type": "summary_text", "text": text}
    whole: dict[str, Any] = {"id": identity, "type": "reasoning", "summary": [part]}
    if "reasoning.encrypted_content" in (ask.field("include") or ()):
        whole["encrypted_content"] = base64.b64encode(f"{ask.region}:{ask.digest:x}".encode()).decode()
    where = {"item_id": identity, "summary_index": 0}

    def inner() -> Iterator[Part]:
        empty = {**part, "text": ""}
        yield Part("response.reasoning_summary_part.added", {**where, "part": empty}, Kind.OPEN)
        for delta, tokens in group(content.reasoning, shape):
            body = {**where, "delta": delta}
            yield Part("response.reasoning_summary_text.delta", body, Kind.TOKEN, tokens)
        yield Part("response.reasoning_summary_text.done", {**where, "text": text}, Kind.MARK)
        yield Part("response.reasoning_summary_part.done", {**where, "part": part}, Kind.MARK)

    return _wrapped({**whole, "summary": []}, whole, inner())


def _tool(ask: Ask, position: int, tool: ToolPart) -> Item:
    identity = f"fc_{ask.identity}{position}"
    arguments = "".join(tool.arguments)
    whole = {
        "id": identity,
        "type": "function_call",
        "status": "completed",
        "call_id": f"call_{ask.digest:016x}{position}",
        "name": tool.name,
        "arguments": arguments,
    }

    def inner() -> Iterator[Part]:
        for delta in tool.arguments:
            body = {"item_id": identity, "delta": delta}
            yield Part("response.function_call_arguments.delta", body, Kind.TOKEN, 1)
        ended = {"item_id": identity, "name": tool.name, "arguments": arguments}
        yield Part("response.function_call_arguments.done", ended, Kind.MARK)

    return _wrapped({**whole, "status": "in_progress", "arguments": ""}, whole, inner())
