"""What a request asks, apart from everything volatile."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.analyze.asking import instructions, is_redacted, last_question, question_number, skeleton
from edgeinf.core.call import Call


def _call(*messages: tuple[str, Any], **fields: Any) -> Call:
    body = {"model": "m", "messages": [{"role": role, "content": said} for role, said in messages], **fields}
    return Call(dialect="openai-chat", path="/v1/chat/completions", model="m", body=body)


def test_questions_that_differ_in_what_is_volatile_have_one_skeleton() -> None:
    assert skeleton("Order 4711: WHERE is it?!") == skeleton("order 12: where is it")
    assert skeleton("where is it") != skeleton("when is it")
    assert skeleton("Où est la 12e?") == skeleton("où est LA 13e")


@pytest.mark.parametrize("span", ["At 10:00.", "It is 2026-11-01.", "Ticket 99."])
def test_surroundings_that_differ_in_digits_are_the_same(span: str) -> None:
    system = "You help customers. Be kind. {} Answer briefly. Never lie. Stay calm."
    one, other = (
        question_number("Where?", _call(("system", system.format(said)), ("user", "Where?")))
        for said in (span, "At 11:59.")
    )
    assert one == other


def test_surroundings_are_left_out_where_the_route_says_as_much() -> None:
    one, other = _call(("system", "Be kind."), ("user", "Where?")), _call(("system", "Rhyme."), ("user", "Where?"))
    assert question_number("Where?", one) != question_number("Where?", other)
    assert question_number("Where?", one, framed=False) == question_number("Where?", other, framed=False)


@pytest.mark.parametrize(
    ("call", "question"),
    [
        (_call(("user", "a"), ("assistant", "b"), ("user", [{"type": "text", "text": "c"}])), "c"),
        (_call(("assistant", "b")), ""),
        (Call(dialect="d", path="/p", model="m", body={"prompt": ["a", "b"]}), "a\nb"),
    ],
    ids=["parts", "no user", "prompt"],
)
def test_the_last_user_turn_is_the_question(call: Call, question: str) -> None:
    assert last_question(call) == question


def test_instructions_stand_in_fields_and_in_messages() -> None:
    assert instructions(_call(("developer", "b"), ("user", "c"), system="a").body) == "a\nb"


def test_what_was_taken_out_leaves_a_word() -> None:
    assert is_redacted("My name is [REDACTED].")
    assert not is_redacted("My name is Ada.")
