from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.dialects.base import ANSWER, ERROR, NOTHING, TOKEN
from edgeinf.core.wire.sse import DONE, Event
from tests.core.dialects.kit import event, followed, named

NAME = "openai-responses"
BODY = {"model": "m", "input": "hi"}
_ITEM = {"type": "message", "id": "msg_1", "content": []}


def stream(*kinds: Any, **final: Any) -> list[Event]:
    """Return events numbered from 0: created, these, and an end with this response."""
    done = {"model": "m-1", "status": "completed", "output": [_ITEM], **final}
    middle = [kind if isinstance(kind, dict) else {"type": kind, "delta": "a"} for kind in kinds]
    every = [{"type": "response.created", "response": {"model": "m-0"}}, *middle]
    every.append({"type": f"response.{done['status']}", "response": done})
    return [named({**each, "sequence_number": number}) for number, each in enumerate(every)]


@pytest.mark.parametrize(
    ("data", "brings"),
    [
        ({"type": "response.created", "response": {}}, NOTHING),
        ({"type": "response.in_progress", "response": {}}, NOTHING),
        ({"type": "response.output_item.added", "item": {}}, NOTHING),
        ({"type": "response.content_part.added", "part": {}}, NOTHING),
        ({"type": "response.output_text.delta", "delta": "a"}, TOKEN | ANSWER),
        ({"type": "response.output_text.delta", "delta": ""}, NOTHING),
        ({"type": "response.refusal.delta", "delta": "no"}, TOKEN | ANSWER),
        ({"type": "response.audio.delta", "delta": "AA"}, TOKEN | ANSWER),
        ({"type": "response.reasoning_summary_text.delta", "delta": "hm"}, TOKEN),
        ({"type": "response.function_call_arguments.delta", "delta": "{"}, TOKEN),
        ({"type": "response.brand_new.delta", "delta": "x"}, TOKEN),
        ({"type": "response.output_text.done", "text": "a"}, NOTHING),
        ({"type": "error", "code": "x", "message": "y"}, ERROR),
        ({"type": "response.failed", "response": {"error": {"message": "y"}}}, ERROR),
    ],
)
def test_the_first_token_is_the_first_delta(data: dict[str, Any], brings: int) -> None:
    assert followed(NAME, BODY, [named(data)])[0] == [brings]


def without(events: list[Event], index: int) -> list[Event]:
    """Return the events but for one."""
    return events[:index] + events[index + 1 :]


@pytest.mark.parametrize(
    ("events", "unfit"),
    [
        (stream("response.output_text.delta"), None),
        ([*stream("response.output_text.delta"), Event(b"", DONE)], None),
        (stream("response.output_text.delta")[:-1], "stream cut: no end"),
        ([], "stream cut: no end"),
        (without(stream("response.output_text.delta"), 1), "stream cut: an event is missing"),
        (without(stream("response.output_text.delta"), 0), "stream cut: an event is missing"),
        (
            stream(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "incomplete: max_output_tokens",
        ),
        (stream(output=[]), "no output"),
        (stream({"type": "response.output_item.done", "item": _ITEM}, output=[]), None),
        (stream(status="failed", error={"message": "x"}), "error in the stream"),
        ([named({"type": "error", "message": "x"})], "error in the stream"),
        ([event('{"type": "resp'), *stream()], "malformed event"),
    ],
    ids=[
        "whole",
        "with chat's marker",
        "P39 cut",
        "nothing",
        "a hole",
        "no start",
        "P43 incomplete",
        "no output",
        "items left out at the end",
        "failed",
        "P49 error first",
        "half an event",
    ],
)
def test_only_a_complete_stream_may_be_kept(events: list[Event], unfit: str | None) -> None:
    assert followed(NAME, BODY, events)[1].unfit == unfit


def test_the_end_says_usage_and_model() -> None:
    verdict = followed(NAME, BODY, stream(usage={"input_tokens": 3, "output_tokens": 4}))[1]
    assert (verdict.usage.input_tokens, verdict.usage.output_tokens, verdict.model) == (3, 4, "m-1")
    assert followed(NAME, BODY, stream()[:1])[1].model == "m-0"


def test_the_error_is_handed_on() -> None:
    flat = followed(NAME, BODY, [named({"type": "error", "code": "c", "message": "m"})])[1]
    assert flat.error == {"code": "c", "message": "m"}
    nested = followed(NAME, BODY, stream(status="failed", error={"message": "x"}))[1]
    assert nested.error == {"message": "x"}
