"""The texts of a request, to look through, to change, to add to."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.dialects.prompt_text import add_messages, map_every_text, map_texts, question, texts
from edgeinf.core.errors import CallError

BODY: dict[str, Any] = {
    "model": "text",
    "system": [{"type": "text", "text": "text", "cache_control": {"type": "text"}}],
    "messages": [
        {"role": "user", "name": "text", "content": "text"},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "text"}}, {"type": "x", "text": "text"}],
        },
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "text", "signature": "text"}]},
        {"role": "assistant", "tool_calls": [{"id": "text", "function": {"name": "text", "arguments": "text"}}]},
        {"role": "tool", "tool_call_id": "text", "content": [{"content": [{"novel": "text"}]}]},
    ],
    "metadata": {"user_id": "text"},
}


def test_every_text_is_found_and_no_name_id_or_signature() -> None:
    assert len(texts(BODY)) == 5
    met: list[str] = []
    map_texts(BODY, lambda text: met.append(text) or text)  # type: ignore[func-returns-value]
    assert texts(BODY) == met
    changed = map_texts(BODY, lambda text: "other")
    assert str(changed).count("'other'") == 5
    assert str(changed).count("'text'") == str(BODY).count("'text'") - 5


def test_what_is_nested_without_end_is_refused() -> None:
    content: Any = "text"
    for _ in range(250):
        content = [content]
    assert texts({"messages": content}) == ["text"]
    for _ in range(250):
        content = [content]
    with pytest.raises(RecursionError):
        texts({"messages": content})


UNKNOWN: dict[str, Any] = {
    "model": "name", "user": "name", "input_file_id": "name", "file_ids": ["name"], "image_url": "name",
    "image": "name", "text_1": "text", "data": ["text", {"text": "text", "id": "name"}],
    "metadata": {"note": "text"}, "n": 1, "x": None,
}  # fmt: skip


@pytest.mark.parametrize("body", [UNKNOWN, [UNKNOWN["data"]], "text"], ids=["object", "list", "text"])
def test_every_text_of_an_unknown_body_is_found_and_no_name(body: Any) -> None:
    assert map_every_text(body, lambda text: text) is body
    changed = str(map_every_text(body, lambda text: "other"))
    assert changed.count("other") == str(body).count("'text'") - str(body).count("'text':") + (body == "text")
    assert changed.count("'name'") == str(body).count("'name'")


def test_nothing_changed_is_the_very_same_body_and_nothing_is_changed_in_place() -> None:
    assert map_texts(BODY, lambda text: text) is BODY
    before = str(BODY)
    map_texts(BODY, lambda text: "other")
    assert str(BODY) == before


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}, "a"),
        ({"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": [{"text": "c"}]}]}, "c"),
        ({"messages": [{"role": "system", "content": "a"}]}, ""),
        ({"input": "a"}, "a"),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]}, "a"),
        ({"prompt": ["a", "b"]}, "a\nb"),
        ({}, ""),
    ],
)
def test_the_question_is_the_last_turn_of_the_user(body: dict[str, Any], asked: str) -> None:
    assert question(body) == asked


def test_a_prompt_of_tokens_cannot_be_added_to() -> None:
    with pytest.raises(CallError):
        add_messages("openai-completions", {"prompt": [[1, 2]]}, [("system", "a")], [])


def test_a_system_prompt_that_is_no_text_cannot_be_added_to() -> None:
    with pytest.raises(CallError, match="'system' must be a text or a list"):
        add_messages("anthropic-messages", {"system": 5, "messages": []}, [("system", "a")], [])


def test_messages_keep_their_order_at_both_ends() -> None:
    body = {"messages": [{"role": "user", "content": "m"}]}
    made = add_messages("openai-chat", body, [("system", "a"), ("user", "b")], [("user", "c"), ("system", "d")])
    assert "".join(message["content"] for message in made["messages"]) == "abmcd"
