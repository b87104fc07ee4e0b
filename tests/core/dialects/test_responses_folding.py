from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.dialects.responses_folding import fold_response, unfold_response
from edgeinf.core.wire.sse import DONE, Event
from tests.core.dialects.kit import followed, named

_short = st.text(max_size=5)
_part = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("output_text"), "text": _short},
        optional={
            "annotations": st.lists(st.just({"type": "url_citation", "url": "u"}), max_size=2),
            "logprobs": st.just([]),
        },
    ),
    st.fixed_dictionaries({"type": st.just("refusal"), "refusal": _short}),
    st.fixed_dictionaries({"type": st.just("brand_new"), "x": _short}),
)
_item = st.one_of(
    st.fixed_dictionaries(
        {
            "type": st.just("message"),
            "id": _short,
            "role": st.just("assistant"),
            "status": st.just("completed"),
            "content": st.lists(_part, max_size=2),
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("function_call"),
            "id": _short,
            "call_id": _short,
            "name": _short,
            "arguments": _short,
            "status": st.just("completed"),
        }
    ),
    st.fixed_dictionaries(
        {"type": st.just("custom_tool_call"), "id": _short, "call_id": _short, "name": _short, "input": _short}
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("reasoning"),
            "id": _short,
            "summary": st.lists(st.fixed_dictionaries({"type": st.just("summary_text"), "text": _short}), max_size=2),
        },
        optional={
            "encrypted_content": _short,
            "content": st.lists(st.fixed_dictionaries({"type": st.just("reasoning_text"), "text": _short}), max_size=1),
        },
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("web_search_call"),
            "id": _short,
            "status": st.just("completed"),
            "action": st.just({"query": "q"}),
        }
    ),
)
_responses = st.builds(
    lambda output, usage: {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "m",
        "output": output,
        "usage": usage,
        "metadata": {},
    },
    st.lists(_item, min_size=1, max_size=4),
    st.none() | st.fixed_dictionaries({"input_tokens": st.integers(0, 9), "output_tokens": st.integers(0, 9)}),
)


@given(_responses)
def test_a_whole_response_survives_being_streamed(response: dict[str, Any]) -> None:
    events = unfold_response(json.dumps(response).encode())
    assert json.loads(fold_response(events)) == response
    data = [json.loads(event.data) for event in events]
    assert [each["sequence_number"] for each in data] == list(range(len(events)))
    assert [event.name.decode() for event in events] == [each["type"] for each in data]
    assert followed("openai-responses", {"model": "m", "input": "x"}, events)[1].unfit is None


@given(_responses)
def test_deltas_carry_what_the_items_say(response: dict[str, Any]) -> None:
    texts: dict[str, str] = {}
    for event in unfold_response(json.dumps(response).encode()):
        data = json.loads(event.data)
        if data["type"].endswith(".delta"):
            texts[data["type"]] = texts.get(data["type"], "") + data["delta"]
    said = [part for item in response["output"] if item["type"] == "message" for part in item["content"]]
    spoken = "".join(part["text"] for part in said if part["type"] == "output_text")
    assert texts.get("response.output_text.delta", "") == spoken
    arguments = "".join(item["arguments"] for item in response["output"] if item["type"] == "function_call")
    assert texts.get("response.function_call_arguments.delta", "") == arguments


def test_the_order_of_a_plain_answer_is_the_apis() -> None:
    message = {"type": "message", "id": "m1", "content": [{"type": "output_text", "text": "hi", "annotations": []}]}
    events = unfold_response(json.dumps({"status": "completed", "output": [message]}).encode())
    assert [event.name.decode().removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]


def test_an_incomplete_response_ends_as_such() -> None:
    body = json.dumps({"status": "incomplete", "output": []}).encode()
    assert unfold_response(body)[-1].name == b"response.incomplete"


def test_folding_keeps_the_very_bytes_and_ignores_a_foreign_marker() -> None:
    raw = b'{"type":"response.completed","response":{"id":"r",  "output":[1]}}'
    assert fold_response([Event(b"response.completed", raw), Event(b"", DONE)]) == b'{"id":"r",  "output":[1]}'


def test_items_that_the_end_leaves_out_are_put_back() -> None:
    events = [
        named({"type": "response.output_item.done", "item": {"id": "a"}}),
        named({"type": "response.completed", "response": {"id": "r", "output": []}}),
    ]
    assert json.loads(fold_response(events)) == {"id": "r", "output": [{"id": "a"}]}


@pytest.mark.parametrize(
    "body", [b"[]", b"{}", b'{"output": []}'.replace(b"[]", b"1"), b'{"output": [], "status": "queued"}']
)
def test_what_is_no_finished_response_has_no_stream(body: bytes) -> None:
    with pytest.raises(ValueError, match="response"):
        unfold_response(body)


@pytest.mark.parametrize(
    "events",
    [
        [],
        [named({"type": "response.created", "response": {}})],
        [named({"type": "response.completed", "response": None})],
    ],
)
def test_a_stream_without_an_end_is_no_response(events: list[Event]) -> None:
    with pytest.raises(ValueError, match="no response"):
        fold_response(events)
