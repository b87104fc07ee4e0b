"""The text that one event of a stream carries, reasoning apart from the rest; for counting, not for judging."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from edgeinf.core.dialects.base import as_object
from edgeinf.core.wire.sse import Event

__all__ = ["delta_text"]

_Texts = tuple[str, str]


def delta_text(dialect: str, event: Event) -> _Texts:
    """Return (reasoning, other output) of an event; two empty texts where it carries none or is malformed."""
    reader = _READERS.get(dialect)
    if reader is None or event.is_done:
        return "", ""
    try:
        return reader(as_object(msgspec.json.decode(event.data)))
    except (msgspec.DecodeError, TypeError, AttributeError):
        return "", ""


def _chat(chunk: dict[str, Any]) -> _Texts:
    thinking, other = [], []
    for choice in chunk.get("choices") or ():
        delta = as_object(as_object(choice).get("delta"))
        thinking += [delta.get("reasoning_content") or delta.get("reasoning")]
        other += [as_object(choice).get("text"), delta.get("content"), delta.get("refusal")]
        for call in delta.get("tool_calls") or ():
            function = as_object(as_object(call).get("function"))
            other += [function.get("name"), function.get("arguments")]
    return _join(thinking), _join(other)


def _responses(data: dict[str, Any]) -> _Texts:
    kind, text = data.get("type"), data.get("delta")
    if not isinstance(kind, str) or not isinstance(text, str):
        return "", ""
    return (text, "") if kind.startswith("response.reasoning") else ("", text)


def _messages(data: dict[str, Any]) -> _Texts:
    delta = as_object(data.get("delta"))
    return _join([delta.get("thinking")]), _join([delta.get("text"), delta.get("partial_json")])


def _join(parts: list[Any]) -> str:
    return "".join(part for part in parts if isinstance(part, str))


_READERS: dict[str, Callable[[dict[str, Any]], _Texts]] = {
    "openai-chat": _chat,
    "openai-completions": _chat,
    "openai-responses": _responses,
    "anthropic-messages": _messages,
}
