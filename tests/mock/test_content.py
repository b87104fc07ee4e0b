"""What answers say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.mock.content import content_of, cut_into, group, input_tokens, limit_of, text_of, words
from edgeinf.mock.script import Shape, ToolCall
from edgeinf.mock.values import Ask
from tests.mock.http_client import chat


def asked(**body: Any) -> Ask:
    ask = Ask("POST", "/v1/chat/completions", "", [], json.dumps(chat(**body)).encode())
    ask.read()
    return ask


def test_different_requests_get_different_answers_and_equal_ones_the_same() -> None:
    shape = Shape()

    assert text_of(asked(seed=1), shape, 0) == text_of(asked(seed=1), shape, 0) != text_of(asked(seed=2), shape, 0)
    assert text_of(asked(), shape, 0) != text_of(asked(), shape, 1)
    assert len(text_of(asked(), shape, 0)) == 16


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens"])
def test_the_requests_own_limit_bounds_the_answer_and_shows_in_its_finish(name: str) -> None:
    content = content_of(asked(**{name: 5}), Shape())

    assert (len(content.text), content.finish, content.output_tokens) == (5, "length", 5)
    assert limit_of(asked(**{name: 5})) == 5


def test_reasoning_uses_up_the_limit_before_any_visible_text() -> None:
    content = content_of(asked(max_tokens=16), Shape(reasoning=10, hidden_reasoning=10))

    assert (content.hidden, len(content.reasoning), content.text, content.finish) == (10, 6, [], "length")


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        pytest.param(Shape(text="São 世界"), "São 世界", id="text"),
        pytest.param(Shape(pieces=("a", "", "b")), "ab", id="pieces"),
        pytest.param(Shape(echo=True), "hi", id="echo"),
        pytest.param(Shape(tokens=0), "", id="nothing"),
    ],
)
def test_the_text_can_be_given(shape: Shape, text: str) -> None:
    assert "".join(content_of(asked(), shape).text) == text


def test_echo_finds_the_last_text_in_parts() -> None:
    parts = [{"type": "text", "text": "first"}, {"type": "text", "text": "last"}]
    ask = asked(messages=[{"role": "user", "content": parts}])

    assert "".join(text_of(ask, Shape(echo=True), 0)) == "last"


def test_tool_calls_stand_alone_unless_text_is_given() -> None:
    call = ToolCall(name="f", arguments='{"a":1}', parts=3)

    alone = content_of(asked(), Shape(tool_calls=(call,)))
    beside = content_of(asked(), Shape(tool_calls=(call,), text="wait"))

    assert (alone.text, alone.finish, "".join(alone.tools[0].arguments)) == ([], "tool_calls", '{"a":1}')
    assert len(alone.tools[0].arguments) == 3
    assert "".join(beside.text) == "wait"


def test_a_refusal_replaces_the_text() -> None:
    content = content_of(asked(), Shape(refusal="I cannot"))

    assert ("".join(content.refusal), content.text) == ("I cannot", [])


def test_unicode_words_are_wider_than_their_letters() -> None:
    drawn = "".join(words(1, 0, 200, unicode=True))

    assert len(drawn.encode()) > len(drawn)
    assert words(1, 0, 40_000)[:3] == words(1, 0, 3)
    assert len(words(1, 0, 40_000)) == 40_000


@given(text=st.text(max_size=60), parts=st.integers(1, 20))
def test_pieces_join_to_the_text(text: str, parts: int) -> None:
    pieces = cut_into(text, parts)

    assert "".join(pieces) == text
    assert len(pieces) <= parts
    assert all(pieces)


@given(count=st.integers(0, 40), size=st.integers(1, 7), first=st.integers(0, 9))
def test_grouped_tokens_join_to_the_same_text_and_count(count: int, size: int, first: int) -> None:
    tokens = words(3, 0, count)

    grouped = group(tokens, Shape(tokens_per_piece=size, first_piece=first))

    assert "".join(text for text, _ in grouped) == "".join(tokens)
    assert sum(number for _, number in grouped) == count


def test_input_tokens_follow_the_request_unless_given() -> None:
    assert input_tokens(asked(messages=[{"role": "user", "content": "x" * 400}]), Shape()) > 100
    assert input_tokens(asked(stream=True), Shape()) == input_tokens(asked(), Shape())
    assert input_tokens(asked(), Shape(input_tokens=7)) == 7
