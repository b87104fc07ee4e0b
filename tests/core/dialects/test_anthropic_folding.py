from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.dialects.anthropic_folding import fold_events, unfold_message
from edgeinf.core.wire.sse import Event
from tests.core.dialects.kit import ANTHROPIC, followed, named

_short = st.text(max_size=6)
_json = st.dictionaries(_short, st.integers() | _short | st.lists(st.booleans(), max_size=2), max_size=3)
_block = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("text"), "text": _short},
        optional={
            "citations": st.lists(
                st.fixed_dictionaries({"type": st.just("char_location"), "cited_text": _short}), min_size=1, max_size=2
            )
        },
    ),
    st.fixed_dictionaries(
        {"type": st.just("thinking"), "thinking": _short, "signature": st.text(min_size=1, max_size=9)}
    ),
    st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": _short}),
    st.fixed_dictionaries({"type": st.just("tool_use"), "id": _short, "name": _short, "input": _json}),
    st.fixed_dictionaries({"type": st.just("server_tool_use"), "id": _short, "name": _short, "input": _json}),
    st.fixed_dictionaries({"type": st.just("brand_new_block"), "payload": _json}),
)
_wholes = st.builds(
    lambda content, stop, usage: {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": content,
        "stop_reason": stop[0],
        "stop_sequence": stop[1],
        "usage": usage,
    },
    st.lists(_block, max_size=4),
    st.sampled_from([("end_turn", None), ("stop_sequence", "###"), ("tool_use", None), ("refusal", None)]),
    st.fixed_dictionaries(
        {"input_tokens": st.integers(0, 9), "output_tokens": st.integers(0, 9), "cache_read_input_tokens": st.just(0)}
    ),
)


@given(_wholes)
def test_a_whole_message_survives_being_streamed(whole: dict[str, Any]) -> None:
    events = unfold_message(json.dumps(whole).encode())
    assert json.loads(fold_events(events)) == whole
    assert followed("anthropic-messages", ANTHROPIC, events)[1].unfit is None
    assert all(event.name.decode() == json.loads(event.data)["type"] for event in events)


def test_a_live_stream_becomes_its_message() -> None:
    def block(index: int, **block: Any) -> Event:
        return named({"type": "content_block_start", "index": index, "content_block": block})

    def delta(index: int, **delta: Any) -> Event:
        return named({"type": "content_block_delta", "index": index, "delta": delta})

    message = {
        "id": "msg_1",
        "type": "message",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 25, "output_tokens": 1},
    }
    events = [
        named({"type": "message_start", "message": message}),
        block(0, type="thinking", thinking="", signature=""),
        named({"type": "ping"}),
        delta(0, type="thinking_delta", thinking="h"),
        delta(0, type="thinking_delta", thinking="m"),
        delta(0, type="signature_delta", signature="EqQB+/=="),
        block(1, type="tool_use", id="t", name="f", input={}),
        delta(1, type="input_json_delta", partial_json=""),
        delta(1, type="input_json_delta", partial_json='{"a"'),
        delta(1, type="input_json_delta", partial_json=": 1}"),
        named({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 15}}),
        named({"type": "message_stop"}),
    ]
    assert json.loads(fold_events(events)) == {
        **message,
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "EqQB+/=="},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 25, "output_tokens": 15},
    }


@pytest.mark.parametrize(
    "block",
    [
        {"type": "compaction", "content": "so far"},
        {"type": "compaction", "content": "so far", "encrypted_content": "Eq=="},
        {"type": "compaction", "content": None, "tool_changes": []},
    ],
    ids=["plain", "encrypted", "failed"],
)
def test_a_compaction_survives_being_streamed(block: dict[str, Any]) -> None:
    message = {"id": "m", "type": "message", "role": "assistant", "content": [block], "stop_reason": "compaction"}
    events = unfold_message(json.dumps({**message, "stop_sequence": None, "usage": {"output_tokens": 3}}).encode())
    (delta,) = [json.loads(e.data)["delta"] for e in events if e.name == b"content_block_delta"]
    assert delta["type"] == "compaction_delta"
    assert json.loads(fold_events(events))["content"] == [block]


def test_an_unknown_delta_is_not_dropped_in_silence() -> None:
    events = [
        named({"type": "message_start", "message": {}}),
        named({"type": "content_block_start", "index": 0, "content_block": {"type": "x"}}),
        named({"type": "content_block_delta", "index": 0, "delta": {"type": "x_delta"}}),
    ]
    with pytest.raises(ValueError, match="unknown type 'x_delta'"):
        fold_events(events)


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"content": "a"}'])
def test_what_is_no_message_has_no_stream(body: bytes) -> None:
    with pytest.raises(ValueError, match="no message"):
        unfold_message(body)


def test_a_stream_without_its_start_is_no_message() -> None:
    with pytest.raises(ValueError, match="no message"):
        fold_events([named({"type": "ping"})])
