"""Conversations become requests with growing history."""

from __future__ import annotations

from edgeinf.analyze.conversations import turns

SAID = [
    {"from": "system", "value": "s"},
    {"from": "human", "value": "a"},
    {"from": "gpt", "value": "b"},
    {"from": "human", "value": "c"},
]


def test_each_user_turn_is_a_request_with_all_before_it() -> None:
    first, second = turns(SAID, model="m", session="x", at=5.0)
    assert isinstance(first.request, dict)
    assert isinstance(second.request, dict)
    assert [m["content"] for m in first.request["messages"]] == ["s", "a"]
    assert [m["content"] for m in second.request["messages"]] == ["s", "a", "b", "c"]
    assert (first.answer, second.answer, first.at, second.at) == ("b", None, None, 5.0)


def test_what_is_no_conversation_gives_nothing() -> None:
    assert turns(None, model=None, session=None) == turns([1, "x"], model=None, session=None) == []
