"""Whatever a client or an origin sends, a dialect says what is wrong with it and never breaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.core.dialects import by_name, dialects
from edgeinf.core.dialects.delta_text import delta_text
from edgeinf.core.errors import CallError
from edgeinf.core.key import canonical_forms
from edgeinf.core.normalize.levels import LEVELS, MASK_KINDS, level
from edgeinf.core.tokens import prompt_texts
from edgeinf.core.wire.sse import DONE, Event

_NAMES = sorted(dialects())
_FIELDS = [
    "model", "messages", "role", "content", "type", "text", "tools", "function", "name", "description", "input",
    "instructions", "prompt", "query", "documents", "texts", "n", "stream", "stream_options", "include_usage",
    "store", "user", "metadata", "user_id", "max_tokens", "image_url", "url", "source", "cache_control", "system",
    "choices", "index", "delta", "finish_reason", "message", "usage", "prompt_tokens", "prompt_tokens_details",
    "error", "response", "status", "output", "item", "data", "embedding", "results", "id", "arguments", "summary",
    "annotations", "logprobs", "stop_reason", "content_block", "partial_json", "thinking", "input_tokens",
    "sequence_number", "tool_calls", "encoding_format", "dimensions", "conversation", "tool", "definition",
    "variables",
]  # fmt: skip
_WORDS = st.sampled_from(
    [
        "user", "system", "text", "message_start", "content_block_start", "content_block_delta", "content_block_stop",
        "message_delta", "response.created", "response.completed", "response.output_item.done", "input_text", "stop",
    ]
)  # fmt: skip
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=5),
    max_leaves=25,
)
_OBJECT = st.dictionaries(st.sampled_from(_FIELDS), _JSON, max_size=6)
_MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "system", "assistant"])}, optional={"content": _JSON}),
    max_size=3,
)


@pytest.mark.parametrize("name", _NAMES)
@settings(max_examples=40)
@given(body=_OBJECT, messages=_MESSAGES)
def test_any_body_is_a_call_or_refused(name: str, body: dict[str, Any], messages: Any) -> None:
    dialect = by_name(name)
    for each in (
        body,
        {"model": "m", "prompt": "a", "input": ["a"], "query": "q", "documents": ["a"], **body, "messages": messages},
    ):
        try:
            call = dialect.read(sorted(dialect.paths)[0], "", each)
        except CallError:
            continue
        before = json.dumps(each)
        assert all(isinstance(reason, str) for reason in dialect.bypass(call))
        for at in (*LEVELS.values(), level("masked", mask=MASK_KINDS)):
            assert all(form.body for form in canonical_forms(call, dialect, at))
        dialect.upstream_body(call)
        dialect.pinned(call)
        list(prompt_texts(call))
        assert json.dumps(each) == before


def valid(name: str) -> Any:
    """Return a plain call of a dialect."""
    body = {
        "model": "m",
        "max_tokens": 1,
        "messages": [],
        "input": ["a", "b"],
        "prompt": "a",
        "query": "q",
        "documents": ["a"],
    }
    dialect = by_name(name)
    return dialect.read(sorted(dialect.paths)[-1], "", body)


@pytest.mark.parametrize("name", _NAMES)
@settings(max_examples=40)
@given(document=_JSON | _OBJECT, junk=st.binary(max_size=12))
def test_any_answer_is_judged(name: str, document: Any, junk: bytes) -> None:
    dialect, call = by_name(name), valid(name)
    for body in (json.dumps(document).encode(), junk, b""):
        verdict = dialect.judge(call, body)
        assert verdict.unfit is None or isinstance(verdict.unfit, str)
        assert isinstance(dialect.render_whole(call, body), bytes)
        dialect.answer_id(body)
        for attempt in (lambda b=body: dialect.unfold(b), lambda b=body: dialect.split_answer(call, b)):
            try:
                attempt()
            except ValueError:
                pass  # the one way to say that it cannot be done


@pytest.mark.parametrize("name", _NAMES)
@settings(max_examples=40)
@given(data=st.lists(_OBJECT | _JSON, max_size=5), junk=st.binary(max_size=8))
def test_any_stream_is_followed(name: str, data: list[Any], junk: bytes) -> None:
    dialect, call = by_name(name), valid(name)
    events = [Event(b"", json.dumps(each).encode()) for each in data]
    events += [Event(b"x", junk), Event(b"", b""), Event(b"", DONE)]
    watcher = dialect.watch(call)
    for event in events:
        assert isinstance(watcher.feed(event), int)
        dialect.render_event(call, event)
    assert watcher.verdict().unfit is not None
    for some in (events, events[:-3], []):
        try:
            dialect.fold(some)
        except ValueError:
            pass  # the one way to say that it cannot be done


_ODD: list[Any] = [None, True, 1, 1.5, "x", [], [1], {}, {"a": 1}, [[]]]


def altered(value: Any) -> Iterator[Any]:
    """Yield a value many times, each time with something odd in another place."""
    yield from _ODD
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for at, inner in items:
        for other in altered(inner):
            copy = dict(value) if isinstance(value, dict) else list(value)
            copy[at] = other
            yield copy


_USAGE = {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 0}}
_CALL = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}
_SHAPES: dict[str, list[Any]] = {
    "openai-chat": [
        {"choices": [{"index": 0, "delta": {"content": "a", "tool_calls": [_CALL]}, "logprobs": {"content": [{}]}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "token_ids": [1]}], "usage": _USAGE},
        {"choices": [{"index": 0, "message": {"content": "a", "tool_calls": [_CALL]}, "finish_reason": "stop"}]},
    ],
    "openai-completions": [{"choices": [{"index": 0, "text": "a", "finish_reason": "stop"}], "usage": _USAGE}],
    "openai-responses": [
        {"type": "response.output_item.done", "sequence_number": 0, "output_index": 0, "item": {"type": "message"}},
        {
            "type": "response.completed",
            "response": {"status": "completed", "output": [{}], "usage": {"input_tokens": 1}},
        },
        {"status": "completed", "metadata": {}, "output": [{"type": "message", "content": [{"type": "output_text"}]}]},
    ],
    "anthropic-messages": [
        {
            "type": "message_start",
            "message": {"content": [], "usage": {"input_tokens": 1, "cache_read_input_tokens": 0}},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {
            "content": [{"type": "text", "text": "a"}],
            "stop_reason": "x",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    ],
    "opaque": [{"data": [{"b64_json": "a"}], "results": [{}], "usage": {"input_tokens": 1, "output_tokens": 1}}],
    "rerank": [{"results": [{"index": 0}], "meta": {"tokens": {"input_tokens": 1}}, "usage": {"prompt_tokens": 1}}],
}


@pytest.mark.parametrize("name", sorted(_SHAPES))
def test_one_odd_value_anywhere_in_an_answer_breaks_nothing(name: str) -> None:
    dialect, call = by_name(name), valid(name)
    for shape in _SHAPES[name]:
        for each in altered(shape):
            body = json.dumps(each).encode()
            event = Event(b"", body)
            watcher = dialect.watch(call)
            assert isinstance(watcher.feed(event), int)
            assert isinstance(watcher.verdict().unfit, str | None)
            dialect.render_event(call, event)
            delta_text(name, event)
            usage = dialect.judge(call, body).usage
            assert all(count is None or isinstance(count, int) for count in msgspec.structs.astuple(usage))
            for attempt in (lambda e=event: dialect.fold([e]), lambda b=body: dialect.unfold(b)):
                try:
                    attempt()
                except ValueError:
                    pass  # the one way to say that it cannot be done


@pytest.mark.parametrize("name", ["openai-chat", "anthropic-messages", "openai-responses"])
@pytest.mark.parametrize("field", ["content", "tools", "source"])
def test_what_is_nested_too_deeply_is_refused(name: str, field: str) -> None:
    deep: Any = [{"type": "text", "text": "x"}]
    for _ in range(300):
        deep = [{"type": "namespace", field: deep}]
    body = {
        "model": "m",
        "max_tokens": 1,
        "messages": [{"role": "user", "content": deep}],
        "input": deep,
        "tools": deep,
    }
    dialect = by_name(name)
    call = dialect.read(sorted(dialect.paths)[0], "", body)
    dialect.bypass(call)
    for at in LEVELS.values():
        canonical_forms(call, dialect, at)
