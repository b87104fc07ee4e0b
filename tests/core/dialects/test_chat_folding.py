from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.dialects.chat_folding import fold_chunks, merge_delta, unfold_message
from edgeinf.core.wire.sse import DONE, Event
from tests.core.dialects.kit import CHAT, event, followed

_HEAD = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "system_fingerprint": "fp"}


def stream(*chunks: dict[str, Any]) -> list[Event]:
    """Return a whole stream."""
    return [*(event({**_HEAD, **each}) for each in chunks), Event(b"", DONE)]


def choice(delta: dict[str, Any], finish: str | None = None, index: int = 0, **more: Any) -> dict[str, Any]:
    """Return a chunk with one choice."""
    return {"choices": [{"index": index, "delta": delta, "finish_reason": finish, **more}]}


def test_everything_that_a_stream_says_is_in_the_whole() -> None:
    logprob = {"token": "Hel", "logprob": -0.5, "bytes": [72], "top_logprobs": []}
    events = stream(
        choice({"role": "assistant", "content": "", "refusal": None}),
        choice({"reasoning_content": "hm "}),
        choice({"reasoning_content": "ok"}),
        choice({"content": "Hel"}, logprobs={"content": [logprob], "refusal": None}),
        choice({"content": "lo"}, logprobs={"content": [{**logprob, "token": "lo"}], "refusal": None}),
        choice(
            {"tool_calls": [{"index": 0, "id": "t1", "type": "function", "function": {"name": "f", "arguments": ""}}]}
        ),
        choice({"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]}),
        choice(
            {"tool_calls": [{"index": 1, "id": "t2", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}
        ),
        choice({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
        choice({"annotations": [{"type": "url_citation"}]}),
        choice({"content": "B"}, index=1),
        choice({}, "tool_calls"),
        choice({}, "stop", index=1),
        {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}, "obfuscation": "xxxx"},
    )
    whole = json.loads(fold_chunks(events))
    assert whole["object"] == "chat.completion"
    assert whole["usage"] == {"prompt_tokens": 3, "completion_tokens": 4}
    assert {field: whole[field] for field in ("id", "created", "model", "system_fingerprint")} == {
        field: value for field, value in _HEAD.items() if field != "object"
    }
    assert "obfuscation" not in whole
    first, second = whole["choices"]
    assert first["finish_reason"] == "tool_calls"
    assert first["message"]["content"] == "Hello"
    assert first["message"]["reasoning_content"] == "hm ok"
    assert first["message"]["refusal"] is None
    assert first["message"]["annotations"] == [{"type": "url_citation"}]
    assert [part["token"] for part in first["logprobs"]["content"]] == ["Hel", "lo"]
    assert first["message"]["tool_calls"] == [
        {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
        {"id": "t2", "type": "function", "function": {"name": "g", "arguments": "{}"}},
    ]
    assert second["message"] == {"content": "B", "role": "assistant"}
    assert second["finish_reason"] == "stop"


def test_what_servers_say_of_a_choice_chunk_by_chunk_is_gathered() -> None:
    events = stream(
        {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
        choice({"content": "a"}, token_ids=[1, 2], content_filter_results={"hate": {"severity": "safe"}}),
        choice({"content": "b"}, token_ids=[3], content_filter_results={"hate": {"severity": "low"}}),
        choice({}, "stop", content_filter_results={}, token_ids=None),
    )
    (only,) = json.loads(fold_chunks(events))["choices"]
    assert only["token_ids"] == [1, 2, 3]
    assert only["content_filter_results"] == {"hate": {"severity": "low"}}


def test_padded_pieces_of_sound_are_one_sound() -> None:
    pieces = [b"\x01", b"\x02\x03", b"\x04\x05\x06", b"\x07"]
    said = [{"audio": {"data": base64.b64encode(piece).decode()}} for piece in pieces]
    events = stream(choice({"audio": {"id": "a", "data": ""}}), *map(choice, said), choice({}, "stop"))
    audio = json.loads(fold_chunks(events))["choices"][0]["message"]["audio"]
    assert base64.b64decode(audio["data"], validate=True) == b"".join(pieces)
    assert audio["id"] == "a"


def test_data_that_is_no_base64_is_joined_as_text() -> None:
    into: dict[str, Any] = {"data": "x="}
    merge_delta(into, {"data": "?"})
    assert into == {"data": "x=?"}


_texts = st.none() | st.text(max_size=8)
_calls = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.text(min_size=1, max_size=3),
            "type": st.just("function"),
            "function": st.fixed_dictionaries({"name": st.text(max_size=3), "arguments": st.text(max_size=6)}),
        }
    ),
    min_size=1,
    max_size=3,
)
_messages = st.fixed_dictionaries(
    {"role": st.just("assistant"), "content": _texts},
    optional={
        "refusal": _texts,
        "reasoning_content": st.text(min_size=1, max_size=5),
        "tool_calls": _calls,
        "annotations": st.lists(st.fixed_dictionaries({"type": st.just("url_citation")}), max_size=2),
        "audio": st.fixed_dictionaries(
            {"id": st.just("a1"), "data": st.text(max_size=4), "transcript": st.text(max_size=4)}
        ),
    },
)
_logprobs = st.none() | st.fixed_dictionaries(
    {
        "content": st.lists(
            st.fixed_dictionaries({"token": st.text(max_size=2), "logprob": st.floats(-5, 0)}), max_size=2
        )
    }
)
_wholes = st.builds(
    lambda bodies, usage, more: {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        **more,
        "choices": [
            {"index": i, "message": message, "logprobs": logprobs, "finish_reason": finish}
            for i, (message, logprobs, finish) in enumerate(bodies)
        ],
        **({} if usage is None else {"usage": {"prompt_tokens": usage, "completion_tokens_details": {"x": 0}}}),
    },
    st.lists(
        st.tuples(_messages, _logprobs, st.sampled_from(["stop", "length", "tool_calls"])), min_size=1, max_size=3
    ),
    st.none() | st.integers(0, 9),
    st.sampled_from([{}, {"service_tier": "default"}, {"provider": "P", "citations": ["u"]}]),
)


@given(_wholes)
def test_a_whole_answer_survives_being_streamed(whole: dict[str, Any]) -> None:
    events = unfold_message(json.dumps(whole).encode())
    assert json.loads(fold_chunks(events)) == whole
    verdict = followed("openai-chat", {**CHAT, "n": len(whole["choices"])}, events)[1]
    assert verdict.unfit is None


@given(_wholes, st.integers(1, 3))
def test_pieces_of_any_size_fold_to_the_same_text(whole: dict[str, Any], size: int) -> None:
    text = whole["choices"][0]["message"]["content"] or ""
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    events = stream(
        choice({"role": "assistant", "content": ""}), *(choice({"content": p}) for p in pieces), choice({}, "stop")
    )
    assert json.loads(fold_chunks(events))["choices"][0]["message"]["content"] == text


def test_names_that_servers_repeat_are_not_joined() -> None:
    into: dict[str, Any] = {}
    for _ in range(2):
        merge_delta(into, {"role": "assistant", "type": "x", "id": "1"})
    assert into == {"role": "assistant", "type": "x", "id": "1"}


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"choices": 1}'])
def test_what_is_no_answer_has_no_stream(body: bytes) -> None:
    with pytest.raises(ValueError, match="no chat completion"):
        unfold_message(body)


@pytest.mark.parametrize("events", [[], [Event(b"", DONE)], [event({"choices": []})]])
def test_a_stream_without_choices_is_no_answer(events: list[Event]) -> None:
    with pytest.raises(ValueError, match="no choices"):
        fold_chunks(events)
