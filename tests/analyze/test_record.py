"""Endpoints of bodies that name none, and the text of answers in any shape."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.analyze.record import answer_text, parsed, path_for
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import parse_object


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"model": "gpt", "messages": []}, "/v1/chat/completions"),
        ({"model": "claude-x", "max_tokens": 1, "messages": [{"role": "user"}]}, "/v1/messages"),
        ({"model": "claude-x", "max_tokens": 1, "messages": [{"role": "system"}]}, "/v1/chat/completions"),
        ({"model": "claude-x", "max_tokens": 1, "messages": [{"role": {}}]}, "/v1/messages"),
        ({"model": "m", "system": "s", "messages": []}, "/v1/messages"),
        ({"model": "m", "input": "x"}, "/v1/responses"),
        ({"model": "text-embedding-3", "input": "x"}, "/v1/embeddings"),
        ({"model": "m", "prompt": "x"}, "/v1/completions"),
        ({"model": "m", "query": "x", "documents": []}, "/v1/rerank"),
    ],
)
def test_the_endpoint_is_told_by_the_fields(body: dict[str, Any], path: str) -> None:
    assert path_for(body) == path


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("plain", "plain"),
        (b'"quoted"', "quoted"),
        ({"choices": [{"message": {"content": "a"}}, {"message": {"content": "b"}}]}, "a\nb"),
        ({"choices": [{"text": "a"}]}, "a"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        ({"output": [{"type": "message", "content": [{"type": "output_text", "text": "a"}]}]}, "a"),
        ({"choices": [{"message": {"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}}]},
         '{"arguments":"{}","name":"f"}'),
        ({"refusal": "no"}, "no"),
        (None, None),
        ({}, None),
        (b"\xff", None),
    ],
)  # fmt: skip
def test_the_text_of_an_answer(answer: Any, text: str | None) -> None:
    assert answer_text(answer) == text


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.one_of(
        st.recursive(
            st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=6),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=8,
        ).map(lambda value: json.dumps({"a": value}).encode()),
        st.sampled_from(
            [
                b'{"a": 1, "a": 2}', b'{"a": {"b": 1, "b": 1}}', b'{"\\u0022a": 1, "\\u0022a": 2}', b'{"a": 1e400}',
                b'{"a": 1.0, "b": -0.0, "c": 1e3}', b'{"a": NaN}', b'{"a": "\\ud800"}', b"[1]", b'{"a"', b"\xff",
                b'{"a": 123456789012345678901234567890}', b'{"a\\"": 1, "a\\"": 1}',
            ]
        ),
    )
)  # fmt: skip
@settings(deadline=None)
def test_the_short_way_of_parsing_gives_what_the_strict_one_gives(raw: bytes) -> None:
    def outcome(parse: Callable[[bytes], Any]) -> str:
        try:
            return repr(parse(raw))
        except CallError as error:
            return f"refused: {error.code}"

    assert outcome(parsed) == outcome(parse_object)
