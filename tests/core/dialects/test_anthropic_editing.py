"""Edited blocks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinf.core.dialects.anthropic_editing import MessagesEditor
from edgeinf.core.dialects.anthropic_folding import fold_events, unfold_message
from tests.core.dialects.edits import Shout

THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
TEXT = {"type": "text", "text": "words"}
TOOL = {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}}


@pytest.mark.parametrize("reason", ["end_turn", "tool_use"])
@pytest.mark.parametrize(
    "content",
    [[TEXT], [THINKING, TEXT], [TEXT, THINKING, TOOL], [TOOL], [THINKING], []],
    ids=["text", "thinking", "tool", "tool-only", "thinking-only", "nothing"],
)
def test_a_stream_says_what_the_whole_does_and_counts_without_holes(content: list[Any], reason: str) -> None:
    message = {"type": "message", "role": "assistant", "content": content, "stop_reason": reason}
    whole = MessagesEditor(Shout(footer="!")).whole(message)
    editor = MessagesEditor(Shout(footer="!"))
    events = [shown for event in unfold_message(json.dumps(message).encode()) for shown in editor.event(event)]
    assert json.loads(fold_events(events))["content"] == whole["content"]
    opened = [json.loads(event.data)["index"] for event in events if event.name == b"content_block_start"]
    assert opened == list(range(len(opened)))
    assert "thinking" not in str(whole["content"])
    assert ("!" in str(whole["content"])) == (TEXT in content and reason == "end_turn")
