from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.cacheable import CachePolicy
from edgeinf.core.dialects import by_name
from edgeinf.core.explain import Bypass, Difference, Explanation, differences, explain
from edgeinf.core.wire.canonical import JsonObject

_BODY: JsonObject = {"model": "m", "temperature": 0, "messages": [{"role": "user", "content": "Hi there?"}]}


def chat(a: JsonObject, b: JsonObject, **options: object) -> Explanation:
    api = by_name("openai-chat")
    path = "/v1/chat/completions"
    return explain(api.read(path, "", a), api.read(path, "", b), api, **options)  # type: ignore[arg-type]


def user(text: object) -> JsonObject:
    return {**_BODY, "messages": [{"role": "user", "content": text}]}


def system(text: object) -> JsonObject:
    return {**_BODY, "messages": [{"role": "system", "content": text}]}


def schema(*names: str) -> JsonObject:
    return {**_BODY, "response_format": {"schema": {"properties": {name: {} for name in names}}}}


@pytest.mark.parametrize(
    ("a", "b", "path", "kind", "merged_at"),
    [
        (_BODY, {**_BODY, "user": "u"}, "user", "ignored", "exact"),
        (_BODY, {**_BODY, "stream": True}, "stream", "ignored", "exact"),
        (_BODY, {**_BODY, "temperature": 1}, "temperature", "value", None),
        (_BODY, {**_BODY, "temperature": 0.5}, "temperature", "value", None),
        (_BODY, {**_BODY, "temperature": "0"}, "temperature", "type", None),
        (_BODY, {**_BODY, "n": 1}, "n", "absent", None),
        ({**_BODY, "n": 1}, _BODY, "n", "absent", None),
        (user("Hi"), user("Hi\n"), "messages[0].content", "text", "safe"),
        (user("Hi"), user([{"type": "text", "text": "Hi"}]), "messages[0].content", "type", "safe"),
        (user("Hi"), user("hi!"), "messages[0].content", "text", "loose"),
        (system("At 10:00"), system("At 11:30"), "messages[0].content", "text", "masked"),
        (user("At 10:00"), user("At 11:30"), "messages[0].content", "text", None),
        (schema("x", "y"), schema("y", "x"), "response_format.schema.properties", "order", "loose"),
    ],
    ids=[
        "user", "stream", "value", "float", "type", "added", "removed", "white space", "part", "case", "clock",
        "user's clock", "properties",
    ],
)  # fmt: skip
def test_one_difference_is_named_with_the_level_that_overlooks_it(
    a: JsonObject, b: JsonObject, path: str, kind: str, merged_at: str | None
) -> None:
    found = chat(a, b)
    assert [(d.path, d.kind, d.merged_at) for d in found.differences] == [(path, kind, merged_at)]
    names = list(found.levels)
    merged = names[names.index(merged_at) :] if merged_at else []
    assert [name for name in names if found.levels[name].same] == merged


def test_equal_bodies_share_every_key_whatever_their_order() -> None:
    found = chat(_BODY, dict(reversed(_BODY.items())))
    assert found.differences == []
    assert all(keys.same and keys.key_a == keys.key_b for keys in found.levels.values())


def test_each_of_several_differences_is_judged_alone() -> None:
    found = chat({**user("Hi"), "n": 2}, {**user("hi"), "user": "x"})
    assert {d.path: d.merged_at for d in found.differences} == {
        "messages[0].content": "loose",
        "n": None,
        "user": "exact",
    }


def test_longer_lists_differ_in_what_is_more() -> None:
    found = chat(_BODY, {**_BODY, "messages": [*_BODY["messages"], {"role": "user", "content": "More"}]})
    assert found.differences == [
        Difference(path="messages[1]", a=None, b={"role": "user", "content": "More"}, kind="absent", merged_at=None)
    ]


def test_long_texts_are_shown_where_they_part() -> None:
    (found,) = chat(user("x" * 5000 + "left"), user("x" * 5000 + "right")).differences
    assert "left" in found.a
    assert "right" in found.b
    assert len(found.a) < 200


def test_every_reason_to_bypass_is_given_once_with_its_side() -> None:
    found = chat({**_BODY, "store": True, "plugins": [1]}, {**_BODY, "store": True})
    assert [(b.reason, b.side) for b in found.bypass] == [("store", "both"), ("plugins", "a")]
    assert all(b.detail for b in found.bypass)
    allowed = chat({**_BODY, "store": True}, _BODY, policy=CachePolicy(allow=frozenset({"store"}), max_temperature=0))
    assert allowed.bypass == []
    sampled = chat({**_BODY, "temperature": 1}, _BODY, policy=CachePolicy(max_temperature=0))
    assert [type(b) for b in sampled.bypass] == [Bypass]
    assert sampled.bypass[0].reason == "temperature"


def test_masks_are_those_asked_for() -> None:
    a, b = user("At 10:00"), user("At 11:30")
    assert chat(a, b, mask=("user:timestamps",)).differences[0].merged_at == "masked"


def test_many_differences_are_cut_and_said_to_be() -> None:
    body = {**_BODY, "messages": [{"role": "user", "content": str(i)} for i in range(300)]}
    other = {**_BODY, "messages": [{"role": "user", "content": f"{i}?"} for i in range(300)]}
    found = chat(body, other)
    assert found.truncated
    assert len(found.differences) == 200


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@given(_JSON, _JSON)
def test_values_differ_exactly_where_differences_are_found(a: object, b: object) -> None:
    same = a == b and repr(a) == repr(b) if not isinstance(a, dict | list) else None
    found = list(differences(a, b))
    assert not list(differences(a, a))
    if same is not None:
        assert bool(found) is (not same)


@pytest.mark.parametrize("name", ["anthropic-messages", "openai-embeddings", "openai-responses", "rerank"])
def test_every_dialect_can_be_explained(name: str) -> None:
    bodies: dict[str, JsonObject] = {
        "anthropic-messages": {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}]},
        "openai-embeddings": {"model": "m", "input": ["a", "b"]},
        "openai-responses": {"model": "m", "input": "Hi"},
        "rerank": {"model": "m", "query": "q", "documents": ["a"]},
    }
    api = by_name(name)
    path = sorted(api.paths)[0]
    a, b = api.read(path, "", bodies[name]), api.read(path, "", {**bodies[name], "model": "n"})
    assert [d.path for d in explain(a, b, api).differences] == ["model"]
