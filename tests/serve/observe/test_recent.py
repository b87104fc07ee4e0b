"""The latest requests: bounded, and each with its reason."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.call import Call
from edgeinf.core.events import Event, EventKeys, EventScope
from edgeinf.serve.observe.recent import KEPT, Recent, explain_rows, signature

SECRET = b"s" * 32


def call(*contents: str, **fields: Any) -> Call:
    body = {"messages": [{"role": "user", "content": text} for text in contents], **fields}
    return Call(dialect="openai-chat", path="/v1/chat/completions", model=str(fields.pop("model", "m")), body=body)


def event(number: int, **fields: Any) -> Event:
    base = {"id": f"r{number}", "at": float(number), "dialect": "openai-chat", "cache": "miss", "level": "safe"}
    return Event(**{"scope": EventScope(), "keys": EventKeys(safe=[f"k{number}"]), **base, **fields})


def whys(*requests: tuple[Event, Call | None]) -> list[str]:
    recent = Recent(SECRET)
    for asked, body in requests:
        recent.add(asked, body, 100)
    return [row.why for row in explain_rows(recent.rows())]


@pytest.mark.parametrize(
    ("later", "why"),
    [
        (call("a", "c"), "miss: differs only in messages[1].content"),
        (call("a", "b", "c"), "miss: differs only in messages[2].content, messages[2].role"),
        (call("a", "b", seed=1), "miss: differs only in seed"),
        (call("x", "y"), "miss: differs only in messages[0].content, messages[1].content"),
        (call("a", "b", user="somebody"), "miss: the same question in another scope, namespace or level"),
        (call("z", seed=3, top_p=1, stop="x", n=2, logprobs=True), "miss: first seen"),
    ],
    ids=["last", "longer", "field", "all", "unkeyed", "unlike"],
)
def test_a_miss_is_compared_with_the_nearest_earlier_call(later: Call, why: str) -> None:
    assert whys((event(1), call("a", "b")), (event(2), later))[1] == why


def test_the_nearest_is_the_one_with_the_fewest_differences() -> None:
    recent = Recent(SECRET)
    for number, body in enumerate([call("a", "b", seed=1), call("a", "b"), call("q", "r", seed=3)]):
        recent.add(event(number), body, 100)
    recent.add(event(9), call("a", "b", seed=1, top_p=0.5), 100)
    row = explain_rows(recent.rows())[-1]
    assert (row.nearest, row.differs) == ("r0", ["top_p"])


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (event(2, cache="hit", tier="disk", age_s=7300.0), "hit: disk, 2 h old"),
        (event(2, cache="collapsed"), "shared the answer of an equal call under way"),
        (event(2, cache="stale", age_s=90.0, error="origin_timeout"), "stale, 2 min old: origin_timeout"),
        (event(2, age_s=90000.0), "miss: expired, 1 d old"),
        (event(2, keys=EventKeys(safe=["k1"])), "miss: asked before, but not stored: stream cut"),
        (event(2, cache="bypass", reason="store"), "not cacheable: store"),
        (event(2, cache="bypass", error="invalid_json"), "refused: invalid_json"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_outcome_has_its_words(event: Event, why: str) -> None:
    first = Event(
        id="r1", at=1.0, dialect="openai-chat", cache="miss", level="safe", scope=EventScope(),
        keys=EventKeys(safe=["k1"]), reason="stream cut",
    )  # fmt: skip
    assert whys((first, call("a")), (event, call("a")))[1] == why


def test_processes_are_compared_with_each_other_in_the_order_of_time() -> None:
    here, there = Recent(SECRET), Recent(SECRET)
    there.add(event(1), call("a"), 100)
    here.add(event(2), call("a", seed=1), 100)
    assert [row.why for row in explain_rows([*here.rows(), *there.rows()])] == [
        "miss: first seen",
        "miss: differs only in seed",
    ]


def test_the_ring_and_the_bodies_in_it_are_bounded() -> None:
    recent = Recent(SECRET)
    for number in range(3 * KEPT):
        recent.add(event(number), call("x"), 200 * 1024)
    assert recent._held_bytes <= 16 * 2**20
    assert sum(held.size for held in recent._ring) == recent._held_bytes
    assert len(recent.rows()) == KEPT


def test_a_signature_holds_no_text_and_depends_on_the_secret() -> None:
    made = signature(call("a word"), SECRET)
    assert "word" not in repr(made)
    assert made != signature(call("a word"), b"other" * 8)
    assert made == signature(call("a word", stream=True, user="u"), SECRET)
