"""Where two prompts part: the piece, the path, the span, and what is the same behind it."""

from __future__ import annotations

import string
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.analyze.blocks import prompt_blocks
from edgeinf.analyze.parting import Parting, laid_out, part
from edgeinf.core.call import Call

LONG = " ".join(f"Rule {chr(97 + n % 26)}{chr(97 + n // 26)} holds for every order." for n in range(60))


def chat(system: str, *said: str, tools: list[Any] | None = None) -> dict[str, Any]:
    turns = [{"role": "user" if n % 2 == 0 else "assistant", "content": text} for n, text in enumerate(said)]
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "system", "content": system}, *turns]}
    return body if tools is None else {**body, "tools": tools}


def parting(a: dict[str, Any], b: dict[str, Any]) -> Parting:
    return part(laid_out(a), laid_out(b))


def tool(name: str, text: str = "Use it.") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": text}}


def test_a_clock_is_found_where_it_stands() -> None:
    head = "You are the shop's assistant. It is now "
    a, b = (chat(f"{head}2026-11-29T10:00:{s:02d}Z. {LONG}", "Where is my order?") for s in (7, 42))
    found = parting(a, b)
    place = found.places[0]
    assert (place.path, place.role, place.kind) == ("$.messages[0].content", "system", "timestamp")
    assert (place.start, place.end) == (len(head), len(head) + 21)
    assert (place.a, place.b) == ("2026-11-29T10:00:07Z.", "2026-11-29T10:00:42Z.")
    assert abs(place.behind - len(LONG)) < 60


def test_prompts_that_part_where_the_question_begins_lose_nothing() -> None:
    found = parting(chat(LONG, "Where is my order?"), chat(LONG, "How do I pay by invoice?"))
    assert found.places == ()
    assert found.shared >= len(LONG)


def test_a_conversation_that_went_on_shares_all_it_had() -> None:
    a, b = chat(LONG, "One?"), chat(LONG, "One?", "1.", "Two?")
    assert parting(a, b).places == ()
    assert parting(a, b).shared == sum(piece.chars for piece in laid_out(a))


def test_what_must_go_together_is_one_parting() -> None:
    a, b = (chat(f"Time 10:0{n}. Request ID: req_{n * 7919:012x}\n{LONG}", "Hi") for n in (1, 2))
    found = parting(a, b)
    assert [place.kind for place in found.places] == ["timestamp", "request-id"]
    assert found.recoverable > len(LONG) - 60


@pytest.mark.parametrize(
    ("a", "b", "path", "kind"),
    [
        (["one", "two", "three"], ["one", "three", "two"], "$.tools", "order"),
        (["one", "two", "three"], ["one", "two"], "$.tools", "items"),
    ],
    ids=["in another order", "one fewer"],
)
def test_tools_stand_before_everything(a: list[str], b: list[str], path: str, kind: str) -> None:
    one, other = (chat(LONG, "Hi", tools=[tool(name) for name in names]) for names in (a, b))
    place = parting(one, other).places[0]
    assert (place.path, place.kind, place.start) == (path, kind, None)
    assert place.behind >= len(LONG)


def test_the_words_of_a_tool_are_named_by_their_path() -> None:
    one, other = (chat(LONG, "Hi", tools=[tool("find", f"Today is 2026-11-{day}.")]) for day in (28, 29))
    place = parting(one, other).places[0]
    assert (place.path, place.role, place.kind) == ("$.tools[0].function.description", "tools", "timestamp")


def test_a_history_cut_at_its_front_is_told_from_other_words() -> None:
    turns = [f"{n}: {LONG}" for n in ("a", "b", "c", "d", "e", "f", "g")]
    place = parting(chat("Be kind.", *turns[:5]), chat("Be kind.", *turns[2:])).places[0]
    assert (place.path, place.kind) == ("$.messages[1]", "dropped")
    assert place.behind >= 3 * len(LONG)


def test_a_message_put_between_is_told_from_other_words() -> None:
    turns = [f"{n}: {LONG}" for n in ("a", "b", "c")]
    other = chat("Be kind.", *turns)
    other["messages"].insert(1, {"role": "system", "content": "Mind the weather."})
    place = parting(chat("Be kind.", *turns), other).places[0]
    assert (place.path, place.kind) == ("$.messages[1]", "inserted")
    assert place.behind >= 3 * len(LONG)


def test_long_text_that_changes_in_the_middle_is_one_span() -> None:
    documents = ["Owls hunt by night and sleep by day. " * 40, "Ships of iron float upon water since long. " * 40]
    a, b = (chat(f"Use these:\n{text}\n{LONG}", "Hi") for text in documents)
    place = parting(a, b).places[0]
    assert (place.path, place.kind) == ("$.messages[0].content", "span")
    assert place.start == len("Use these:\n")
    assert place.end is not None
    assert abs(place.end - len("Use these:\n") - len(documents[1])) < 20
    assert abs(place.behind - len(LONG)) < 60


def test_the_order_of_keys_is_no_difference() -> None:
    a = {"model": "m", "messages": [{"role": "user", "content": LONG}]}
    b = {"messages": [{"content": LONG, "role": "user"}], "model": "m"}
    assert parting(a, b).places == ()


@pytest.mark.parametrize(
    "body",
    [
        chat(LONG, "Hi", tools=[tool("one"), tool("two")]),
        {"model": "m", "system": [{"type": "text", "text": LONG}], "messages": [{"role": "user", "content": "Hi"}]},
        {"model": "m", "instructions": LONG, "input": [{"role": "user", "content": "Hi"}]},
        {"model": "m", "instructions": LONG, "input": "Hi"},
        {"model": "m", "prompt": LONG},
    ],
    ids=["chat", "messages", "responses", "responses of one text", "completions"],
)
def test_a_prompt_is_laid_out_as_its_blocks_are_cut(body: dict[str, Any]) -> None:
    blocks = prompt_blocks(Call(dialect="openai-chat", path="/v1/x", model="m", body=body))
    chars = sum(piece.chars for piece in laid_out(body))
    assert len(blocks) == chars // 512


WORDS = st.lists(st.text(string.ascii_lowercase, min_size=2, max_size=9), min_size=60, max_size=120).map(" ".join)
SPAN = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=40)


@settings(max_examples=150, deadline=None)
@given(before=WORDS, behind=WORDS, one=SPAN, other=SPAN)
def test_a_planted_span_is_inside_the_one_that_is_found(before: str, behind: str, one: str, other: str) -> None:
    a, b = (chat(f"{before} <{span}> {behind}", "Hi") for span in (one, other))
    found = parting(a, b)
    if one == other:
        assert found.places == ()
        return
    place = found.places[0]
    assert place.start is not None
    assert place.end is not None
    assert place.start <= len(before) + 1 + min(len(one), len(other)) + 1
    assert place.end <= len(before) + 3 + len(other) + 1
    assert len(behind) <= found.recoverable <= len(behind) + 100


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab \n7é", max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant"]), "content": VALUES}), max_size=4
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "tools": st.lists(VALUES, max_size=3) | VALUES,
        "system": VALUES,
        "messages": MESSAGES,
        "input": VALUES,
        "prompt": st.text(max_size=9),
    },
)


@settings(max_examples=300, deadline=None)
@given(a=BODIES, b=BODIES)
def test_whatever_stands_in_two_prompts_no_more_is_shared_than_there_is(a: dict[str, Any], b: dict[str, Any]) -> None:
    pieces = laid_out(b)
    found = part(laid_out(a), pieces)
    whole = sum(piece.chars for piece in pieces)
    assert 0 <= found.shared + found.recoverable <= whole
    assert part(pieces, pieces) == Parting(whole, ())


def test_long_conversations_that_differ_throughout_are_soon_told_apart() -> None:
    one, other = (chat("Be kind.", *(f"{word * 40} {n}" for n in range(2000))) for word in ("left ", "right "))
    started = time.process_time()
    assert parting(one, other).places == ()
    assert time.process_time() - started < 2
