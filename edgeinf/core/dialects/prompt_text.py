"""The texts of a request, whatever its dialect: to look through them, to change them, to add to them.

What is no text for a reader is named here and left alone; a field that nobody knows yet counts as text, so that what
must not leave does not leave by a new field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject

__all__ = ["ADDABLE", "add_messages", "map_every_text", "map_texts", "question", "texts"]

_FIELDS = ("system", "instructions", "messages", "input", "prompt", "suffix", "query", "documents", "prediction")
# Names, ids, kinds and data; ``thinking`` and ``encrypted_content`` are signed, so a change would break them.
_NO_TEXT = frozenset(
    {
        *("role", "type", "id", "name", "status", "detail", "format", "media_type", "cache_control", "phase"),
        *("tool_call_id", "tool_use_id", "call_id", "item_id", "file_id", "file_data", "file_url", "url", "image_url"),
        *("data", "signature", "thinking", "encrypted_content", "encrypted_index", "container"),
    }
)
# What choices and data a body of any API has at its top; ids and urls are told by their endings.
_NO_TEXT_AT_TOP = frozenset({"model", "endpoint", "purpose", "user", "image", "mask", "voice"})
_DEEPEST = 300
_NAMING_ENDS = ("_id", "_ids", "_url", "_urls")

ADDABLE = frozenset({"openai-chat", "openai-completions", "openai-responses", "anthropic-messages"})
"""Dialects whose prompts can be added to."""


def map_texts(body: JsonObject, change: Callable[[str], str]) -> JsonObject:
    """Return the body with every text changed; the very same body where nothing was."""
    changed = {}
    for field in _FIELDS:
        if field in body:
            value = _mapped(body[field], change)
            if value is not body[field]:
                changed[field] = value
    return {**body, **changed} if changed else body


def map_every_text(body: Any, change: Callable[[str], str]) -> Any:
    """Return the body of an API that nobody here knows with every text changed; the very same where nothing was."""
    if not isinstance(body, dict):
        return _mapped(body, change)
    fields = {k: v if k in _NO_TEXT_AT_TOP or k.endswith(_NAMING_ENDS) else _mapped(v, change) for k, v in body.items()}
    return body if all(fields[k] is body[k] for k in body) else fields


def texts(body: JsonObject) -> list[str]:
    """Return every text of the body, in the order in which ``map_texts`` meets them.

    Raise RecursionError where it is nested more deeply than any request.
    """
    found: list[str] = []
    for field in _FIELDS:
        if field in body:
            _gather(body[field], found, _DEEPEST)
    return found


def _gather(value: Any, found: list[str], deeper: int) -> None:
    if isinstance(value, str):
        found.append(value)
    elif not deeper:
        raise RecursionError
    elif isinstance(value, list):
        for item in value:
            _gather(item, found, deeper - 1)
    elif isinstance(value, dict):
        for name, item in value.items():
            if name not in _NO_TEXT:
                _gather(item, found, deeper - 1)


def question(body: JsonObject) -> str:
    """Return the text of the last turn of the user, or of the prompt: what documents are searched for."""
    turns = body.get("messages", body.get("input", body.get("prompt")))
    if isinstance(turns, list) and any(isinstance(turn, dict) for turn in turns):
        asked = [turn for turn in turns if isinstance(turn, dict) and turn.get("role") == "user"]
        turns = asked[-1].get("content") if asked else None
    return "\n".join(_strings(turns))


def add_messages(
    dialect: str, body: JsonObject, before: Sequence[tuple[str, str]], after: Sequence[tuple[str, str]]
) -> JsonObject:
    """Return the body with messages (role, text) added at its two ends. Raise CallError 400 where it has no text."""
    return _ADD[dialect](body, before, after)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        text = change(value)
        return value if text == value else text
    if isinstance(value, list):
        items = [_mapped(item, change) for item in value]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    if isinstance(value, dict):
        fields = {k: v if k in _NO_TEXT else _mapped(v, change) for k, v in value.items()}
        return value if all(fields[k] is value[k] for k in value) else fields
    return value


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for part in value:
            if isinstance(part, dict):
                yield from _strings(part.get("text"))
            else:
                yield from _strings(part)


_Pairs = Sequence[tuple[str, str]]


def _messages(pairs: _Pairs) -> list[JsonObject]:
    return [{"role": role, "content": text} for role, text in pairs]


def _add_chat(body: JsonObject, before: _Pairs, after: _Pairs) -> JsonObject:
    return {**body, "messages": [*_messages(before), *body["messages"], *_messages(after)]}


def _add_responses(body: JsonObject, before: _Pairs, after: _Pairs) -> JsonObject:
    given = body.get("input")
    items = given if isinstance(given, list) else [{"role": "user", "content": given}] if given is not None else []
    return {**body, "input": [*_messages(before), *items, *_messages(after)]}


def _add_anthropic(body: JsonObject, before: _Pairs, after: _Pairs) -> JsonObject:
    """Add to ``system`` what is the system's, and turns to the messages."""
    system = body.get("system")
    if system is not None and not isinstance(system, str | list):
        raise CallError("'system' must be a text or a list", code="invalid_value", param="system")
    first = [text for role, text in before if role != "user"]
    last = [text for role, text in after if role != "user"]
    if isinstance(system, list):
        system = [*_blocks(first), *system, *_blocks(last)]
    elif first or last:
        system = "\n\n".join([*first, *([system] if system else []), *last])
    turns = [
        *_messages([pair for pair in before if pair[0] == "user"]),
        *body["messages"],
        *_messages([pair for pair in after if pair[0] == "user"]),
    ]
    return {**body, "messages": turns, **({} if system is None else {"system": system})}


def _blocks(found: list[str]) -> list[JsonObject]:
    return [{"type": "text", "text": text} for text in found]


def _add_completion(body: JsonObject, before: _Pairs, after: _Pairs) -> JsonObject:
    prompts = body.get("prompt")

    def around(prompt: Any) -> str:
        if not isinstance(prompt, str):
            raise CallError(
                "this server adds to prompts, which must be text then", code="invalid_value", param="prompt"
            )
        return "\n\n".join([*(text for _, text in before), prompt, *(text for _, text in after)])

    return {**body, "prompt": [around(p) for p in prompts] if isinstance(prompts, list) else around(prompts)}


_ADD: dict[str, Callable[[JsonObject, _Pairs, _Pairs], JsonObject]] = {
    "openai-chat": _add_chat,
    "openai-completions": _add_completion,
    "openai-responses": _add_responses,
    "anthropic-messages": _add_anthropic,
}
