"""Between the chunks of a completions stream and the whole completion, losing nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from edgeinf.core.dialects.chat_folding import gathered, set_field
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import DONE, Event

__all__ = ["fold_texts", "unfold_texts"]

# Fields of a choice that a stream sends in pieces; what else a choice has is said once.
_PIECES = ("text", "reasoning_content", "reasoning")


def fold_texts(events: Sequence[Event]) -> bytes:
    """Turn the events of a complete stream into a ``text_completion``. Raise ValueError if there are none."""
    whole, choices = gathered(events, _fold_choice)
    return msgspec.json.encode({**whole, "choices": choices})


def _fold_choice(into: JsonObject, choice: JsonObject) -> None:
    for field, value in choice.items():
        if field in _PIECES and isinstance(value, str):
            into[field] = (into.get(field) or "") + value
        else:
            set_field(into, field, value)


def unfold_texts(body: bytes) -> list[Event]:
    """Turn a ``text_completion`` into chunks: per choice its text, then its finish; then usage and the end."""
    whole = msgspec.json.decode(body)
    if not isinstance(whole, dict) or not isinstance(whole.get("choices"), list):
        raise ValueError("the answer is no completion")
    usage = whole.pop("usage", None)
    choices = whole.pop("choices")
    events: list[Event] = []

    def add(choices: list[JsonObject], **more: Any) -> None:
        events.append(Event(b"", msgspec.json.encode({**whole, "choices": choices, **more})))

    for choice in choices:
        add([{**choice, "finish_reason": None}])
        last = {"index": choice.get("index", 0), "text": "", "finish_reason": choice.get("finish_reason")}
        if "logprobs" in choice:
            last["logprobs"] = None
        add([last])
    if usage is not None:
        add([], usage=usage)
    events.append(Event(b"", DONE))
    return events
