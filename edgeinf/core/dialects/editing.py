"""Change what an answer says, as a stream and whole alike. Where a dialect keeps its texts is in the files beside this.

An editor gives every text of an answer a channel. Whole answers go through the same channels, in one piece, so a
stream, joined by its reader, says what the whole does.
"""

from __future__ import annotations

from typing import Any, Protocol

from edgeinf.core.dialects.base import as_object
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["REASONING", "Channel", "Editor", "Edits", "wants_json", "without_reasoning"]

# Fields of a message or delta in which servers send reasoning.
REASONING = ("reasoning_content", "reasoning", "reasoning_details", "thinking_blocks")
_REASONING = frozenset(REASONING)
# Where the dialects say of what kind an answer is to be.
_KINDS = frozenset({"response_format", "text", "output_format", "output_config"})


class Channel(Protocol):
    """One text of an answer on its way."""

    def feed(self, text: str) -> str:
        """Return what may be shown now."""
        ...

    def whole(self, text: str, *, footer: bool) -> str:
        """Return what ``feed`` and ``close`` would return together, of a text that is there in one piece."""
        ...

    def close(self, *, footer: bool) -> str:
        """Return the rest; with what is added to the end of texts where ``footer`` says that this is one."""
        ...


class Edits(Protocol):
    """What is to be done to an answer."""

    strip_reasoning: bool
    rewrites: bool  # texts may come out other than they were, so what repeats them token by token must go
    footer: str

    def channel(self) -> Channel:
        """Return a channel for the next text of the answer."""
        ...


class Editor(Protocol):
    """Edits one answer of one dialect."""

    def event(self, event: Event) -> list[Event]:
        """Return what the reader gets for one event."""
        ...

    def whole(self, document: JsonObject) -> JsonObject:
        """Return a whole answer, edited."""
        ...


def without_reasoning(message: JsonObject) -> JsonObject:
    """Return a message or delta without its reasoning; the same object where it has none."""
    if _REASONING.isdisjoint(message):
        return message
    return {field: value for field, value in message.items() if field not in REASONING}


def wants_json(body: JsonObject) -> bool:
    """Return whether a call asks for an answer in JSON."""
    if _KINDS.isdisjoint(body):
        return False
    asked: Any = body.get("response_format") or as_object(body.get("text")).get("format") or body.get("output_format")
    asked = asked or as_object(body.get("output_config")).get("format")
    return str(as_object(asked).get("type", "")).startswith("json")
