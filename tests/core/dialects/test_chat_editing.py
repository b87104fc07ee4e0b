"""Edited choices."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinf.core.dialects import by_name
from edgeinf.core.dialects.chat_editing import ChatEditor
from edgeinf.core.wire.sse import DONE, Event
from tests.core.dialects.edits import Shout


def chunk(index: int = 0, finish: str | None = None, **delta: Any) -> Event:
    """Return a chunk of one choice."""
    return Event(
        b"", json.dumps({"id": "c", "choices": [{"index": index, "delta": delta, "finish_reason": finish}]}).encode()
    )


def edited(events: list[Event], footer: str = "") -> list[Event]:
    """Return a stream, edited."""
    editor = ChatEditor(Shout(footer=footer))
    return [shown for event in events for shown in editor.event(event)]


def test_what_is_held_back_comes_before_the_finish_of_its_own_choice() -> None:
    events = edited(
        [chunk(0, content="a"), chunk(1, content="b"), chunk(1, "stop"), chunk(0, content="c"), chunk(0, "stop")], "!"
    )
    document = json.loads(by_name("openai-chat").fold(events))
    assert [choice["message"]["content"] for choice in document["choices"]] == ["AC!", "B!"]
    finishes = [json.loads(event.data)["choices"][0]["finish_reason"] for event in events]
    assert finishes[-1] == "stop"


def test_a_choice_that_never_finishes_says_what_it_had_before_the_end() -> None:
    events = edited([chunk(0, content="a"), Event(b"", DONE)])
    assert json.loads(events[-2].data)["choices"][0]["delta"] == {"content": "A"}
    assert events[-1].is_done


def test_chunks_of_nothing_but_reasoning_go_and_usage_stays() -> None:
    usage = Event(b"", b'{"choices":[],"usage":{"total_tokens":3}}')
    events = edited([chunk(0, reasoning_content="hm"), chunk(0, role="assistant"), usage])
    assert len(events) == 2
    assert b"total_tokens" in events[-1].data


def test_an_end_in_a_tool_call_has_no_footer() -> None:
    events = edited([chunk(0, content="a"), chunk(0, "tool_calls")], "!")
    assert json.loads(events[-2].data)["choices"][0]["delta"]["content"] == "A"


@pytest.mark.parametrize("data", [b"not json", b"[]", b'{"choices":null}', b'{"error":{}}'])
def test_what_is_no_chunk_passes(data: bytes) -> None:
    assert edited([Event(b"x", data)]) == [Event(b"x", data)]


def test_probabilities_of_rewritten_texts_go_in_both_shapes() -> None:
    choice = {
        "index": 0,
        "message": {"content": "a"},
        "logprobs": {"content": [{"token": "a"}]},
        "finish_reason": "stop",
    }
    assert ChatEditor(Shout()).whole({"choices": [choice]})["choices"][0]["logprobs"] is None
