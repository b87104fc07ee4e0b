from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.dialects.base import ANSWER, ERROR, NOTHING, TOKEN
from edgeinf.core.wire.sse import DONE, Event
from tests.core.dialects.kit import CHAT, event, followed

_SEEN = TOKEN | ANSWER
_END = Event(b"", DONE)


def chunk(delta: dict[str, Any], finish: str | None = None, index: int = 0, **more: Any) -> Event:
    """Return a chunk with one choice."""
    return event({"choices": [{"index": index, "delta": delta, "finish_reason": finish}], **more})


@pytest.mark.parametrize(
    ("delta", "brings"),
    [
        ({"role": "assistant", "content": ""}, NOTHING),
        ({"content": None, "refusal": None}, NOTHING),
        ({}, NOTHING),
        ({"content": "a"}, _SEEN),
        ({"refusal": "no"}, _SEEN),
        ({"audio": {"data": "AA"}}, _SEEN),
        ({"reasoning_content": "hm"}, TOKEN),
        ({"reasoning": "hm"}, TOKEN),
        ({"tool_calls": [{"index": 0}]}, TOKEN),
        ({"function_call": {"name": "f"}}, TOKEN),
    ],
)
def test_the_first_token_is_output_and_not_a_role(delta: dict[str, Any], brings: int) -> None:
    assert followed("openai-chat", CHAT, [chunk(delta)])[0] == [brings]


@pytest.mark.parametrize(
    ("n", "events", "unfit"),
    [
        (1, [chunk({"content": "a"}), chunk({}, "stop"), _END], None),
        (1, [chunk({"content": "a"}), chunk({}, "length"), _END], None),
        (2, [chunk({}, "stop", 0), chunk({}, "stop", 1), _END], None),
        (1, [chunk({"content": "a"})] * 3, "stream cut: not every choice finished"),
        (1, [chunk({"content": "a"}), chunk({}, "stop")], "stream cut: no end marker"),
        (1, [chunk({"content": "a"}), _END], "stream cut: not every choice finished"),
        (2, [chunk({}, "stop", 0), _END], "stream cut: not every choice finished"),
        (1, [chunk({}, "content_filter"), _END], "content filter"),
        (1, [chunk({}, "content_filter: RECITATION"), _END], "content filter"),
        (1, [chunk({"content": "a"}), chunk({}, "insufficient_system_resource"), _END],
         "given up: insufficient_system_resource"),
        (2, [chunk({}, "abort", 0), chunk({}, "stop", 1), _END], "given up: abort"),
        (1, [event({"choices": [{"index": 0, "finish_reason": "stop", "error": {"code": 502}}]}), _END],
         "error in a choice"),
        (1, [event({"choices": [{"index": [0], "finish_reason": "stop"}]}), _END], None),
        (1, [event({"choices": []}), _END], "no choices"),
        (1, [], "no choices"),
        (1, [_END], "no choices"),
        (1, [event({"error": {"message": "x"}})], "error in the stream"),
        (1, [chunk({}, "stop"), event({"error": "x"}), _END], "error in the stream"),
        (1, [event('{"choices": ['), chunk({}, "stop"), _END], "malformed event"),
        (1, [event("[1]"), chunk({}, "stop"), _END], "malformed event"),
    ],
    ids=[
        "whole", "length", "both choices", "P39 cut", "no marker", "P40 marker alone", "P40 one of two", "P50 filtered",
        "filtered with a kind", "interrupted", "one of two given up", "error of a choice", "an index that is none",
        "P42 empty", "nothing", "only the marker", "P49 error first", "error later", "half an event", "no object",
    ],
)  # fmt: skip
def test_only_a_complete_stream_may_be_kept(n: int, events: list[Event], unfit: str | None) -> None:
    assert followed("openai-chat", {**CHAT, "n": n}, events)[1].unfit == unfit


@pytest.mark.parametrize(
    "wrong", [event({"error": {"message": "x"}}), Event(b"error", b"{}"), event({"error": "overloaded"})]
)
def test_an_error_inside_a_stream_is_seen_and_handed_on(wrong: Event) -> None:
    brought, verdict = followed("openai-chat", CHAT, [wrong])
    assert brought == [ERROR]
    assert verdict.error is not None
    assert verdict.error["message"]


def test_usage_said_last_counts_and_the_model_said_first() -> None:
    events = [
        chunk({"content": "a"}, usage={"prompt_tokens": 1, "completion_tokens": 1}, model="m-1"),
        chunk({}, "stop", usage={"prompt_tokens": 1, "completion_tokens": 2}, model="m-2"),
        _END,
    ]
    verdict = followed("openai-chat", CHAT, events)[1]
    assert (verdict.usage.input_tokens, verdict.usage.output_tokens, verdict.model) == (1, 2, "m-1")


def test_the_text_of_a_completion_is_its_first_token() -> None:
    events = [event({"choices": [{"index": 0, "text": "", "finish_reason": None}]})]
    events += [event({"choices": [{"index": 0, "text": "a", "finish_reason": "stop"}]}), _END]
    brought, verdict = followed("openai-completions", {"model": "m", "prompt": "x"}, events)
    assert brought == [NOTHING, _SEEN, NOTHING]
    assert verdict.unfit is None
