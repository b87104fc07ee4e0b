"""Endpoints of bodies that name none, and the text of answers in any shape."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.analyze.record import answer_text, path_for


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"model": "gpt", "messages": []}, "/v1/chat/completions"),
        ({"model": "claude-x", "max_tokens": 1, "messages": [{"role": "user"}]}, "/v1/messages"),
        ({"model": "claude-x", "max_tokens": 1, "messages": [{"role": "system"}]}, "/v1/chat/completions"),
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
