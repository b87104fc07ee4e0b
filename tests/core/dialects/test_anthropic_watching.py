from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.dialects.base import ANSWER, ERROR, NOTHING, TOKEN
from edgeinf.core.wire.sse import Event
from tests.core.dialects.kit import ANTHROPIC, event, followed, named


def start() -> Event:
    """Return the first event."""
    usage = {"input_tokens": 25, "cache_read_input_tokens": 5, "output_tokens": 1}
    return named({"type": "message_start", "message": {"model": "m-1", "content": [], "usage": usage}})


def delta(**fields: Any) -> Event:
    """Return a delta of block 0."""
    return named({"type": "content_block_delta", "index": 0, "delta": fields})


_OPEN = named({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
_TEXT = delta(type="text_delta", text="a")
_CLOSE = named({"type": "content_block_stop", "index": 0})
_STOP = named({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 15}})
_END = named({"type": "message_stop"})
_PING = named({"type": "ping"})
_OVERLOADED = named({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})


@pytest.mark.parametrize(
    ("one", "brings"),
    [
        (start(), NOTHING),
        (_OPEN, NOTHING),
        (_PING, NOTHING),
        (_TEXT, TOKEN | ANSWER),
        (delta(type="text_delta", text=""), NOTHING),
        (delta(type="thinking_delta", thinking="hm"), TOKEN),
        (delta(type="input_json_delta", partial_json='{"a'), TOKEN),
        (delta(type="input_json_delta", partial_json=""), NOTHING),
        (delta(type="signature_delta", signature="x"), NOTHING),
        (delta(type="brand_new_delta", x=1), TOKEN),
        (_STOP, NOTHING),
        (_OVERLOADED, ERROR),
        (Event(b"error", b"{}"), ERROR),
    ],
)
def test_the_first_token_is_a_delta_of_the_model(one: Event, brings: int) -> None:
    assert followed("anthropic-messages", ANTHROPIC, [one])[0] == [brings]


@pytest.mark.parametrize(
    ("events", "unfit"),
    [
        ([start(), _OPEN, _PING, _TEXT, _CLOSE, _STOP, _END], None),
        ([start(), _STOP, _END], None),
        ([start(), _OPEN, _TEXT, _CLOSE, _STOP], "stream cut: no end marker"),
        ([start(), _OPEN, _TEXT], "stream cut: no end marker"),
        ([start(), _OPEN, _TEXT, _STOP, _END], "stream cut: a content block is open"),
        ([start(), _OPEN, _TEXT, _CLOSE, _END], "no stop reason"),
        ([_OPEN, _TEXT, _CLOSE, _STOP, _END], "no message"),
        ([], "no message"),
        ([start(), named({"type": "message_delta", "delta": {"stop_reason": "pause_turn"}}), _END], "paused turn"),
        ([_OVERLOADED], "error in the stream"),
        ([start(), _OPEN, _TEXT, _OVERLOADED, _CLOSE, _STOP, _END], "error in the stream"),
        ([start(), event('{"type": "con'), _STOP, _END], "malformed event"),
    ],
    ids=["whole", "no content", "P39 cut", "cut in a block", "open block", "no reason", "no start", "nothing", "paused",
         "P53 error first", "error later", "half an event"],
)  # fmt: skip
def test_only_a_complete_stream_may_be_kept(events: list[Event], unfit: str | None) -> None:
    assert followed("anthropic-messages", ANTHROPIC, events)[1].unfit == unfit


def test_usage_is_cumulative_and_the_last_counts() -> None:
    more = named({"type": "message_delta", "delta": {}, "usage": {"output_tokens": 7, "input_tokens": None}})
    verdict = followed("anthropic-messages", ANTHROPIC, [start(), more, _STOP, _END])[1]
    assert (verdict.usage.input_tokens, verdict.usage.output_tokens, verdict.usage.cached_tokens) == (30, 15, 5)
    assert verdict.model == "m-1"


def test_the_error_is_handed_on() -> None:
    verdict = followed("anthropic-messages", ANTHROPIC, [_OVERLOADED])[1]
    assert verdict.error == {"type": "overloaded_error", "message": "Overloaded"}
