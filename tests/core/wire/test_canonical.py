from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import canonical, parse, parse_object

_TEXT = st.text(max_size=5)
_NUMBER = st.integers(-(10**25), 10**25) | st.floats(allow_nan=False, allow_infinity=False)
_JSON = st.recursive(
    st.none() | st.booleans() | _NUMBER | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT | st.just("properties"), inner, max_size=4),
    max_leaves=12,
)


def shuffled(value: Any, order: st.DataObject, in_properties: bool = False) -> Any:
    """Return an equal value with its keys in another order, but for those of ``properties``."""
    if isinstance(value, list):
        return [shuffled(item, order) for item in value]
    if not isinstance(value, dict):
        return value
    names = list(value) if in_properties else order.draw(st.permutations(list(value)))
    return {name: shuffled(value[name], order, name == "properties" and not in_properties) for name in names}


@given(_JSON, st.data())
def test_the_form_forgets_key_order_and_white_space_and_nothing_else(value: Any, order: st.DataObject) -> None:
    raw = json.dumps(value).encode()
    form = canonical(parse(raw))
    spaced = json.dumps(shuffled(value, order), indent=3, ensure_ascii=False).encode()
    assert canonical(parse(spaced)) == form
    assert parse(form) == parse(raw)
    assert canonical(parse(form)) == form


@given(_JSON, _JSON)
def test_different_values_have_different_forms(a: Any, b: Any) -> None:
    left, right = parse(json.dumps(a).encode()), parse(json.dumps(b).encode())

    def typed(value: Any) -> Any:
        if isinstance(value, dict):
            return sorted((key, typed(item)) for key, item in value.items())
        return [typed(item) for item in value] if isinstance(value, list) else (type(value).__name__, value)

    if json.dumps(typed(left)) != json.dumps(typed(right)):
        assert canonical(left) != canonical(right)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1", "1.0"),
        ("0", "-0.0"),
        ("100", "1e2"),
        ('"é"', '"\\u00e9"'),
        ('"/"', '"\\/"'),
        ('{"a":1,"b":2}', '{"b":2,"a":1}'),
    ],
)
def test_spellings_of_one_value_are_one(a: str, b: str) -> None:
    assert canonical(parse(a.encode())) == canonical(parse(b.encode()))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1", '"1"'),
        ("1", "true"),
        ("0", "false"),
        ("null", '""'),
        ("[1,2]", "[2,1]"),
        ("9007199254740993", "9007199254740992"),
        ('"é"', '"e\\u0301"'),
        ("{}", '{"a":null}'),
        ('{"properties":{"a":1,"b":2}}', '{"properties":{"b":2,"a":1}}'),
    ],
)
def test_other_values_are_others(a: str, b: str) -> None:
    assert canonical(parse(a.encode())) != canonical(parse(b.encode()))


def test_the_order_of_properties_can_be_forgotten_and_a_property_of_that_name_is_a_schema() -> None:
    a, b = ({"properties": dict(pairs)} for pairs in ([("x", 1), ("y", 2)], [("y", 2), ("x", 1)]))
    assert canonical(a, keep_properties_order=False) == canonical(b, keep_properties_order=False)
    inner_a, inner_b = ({"properties": {"properties": inner["properties"]}} for inner in (a, b))
    assert canonical(inner_a) == canonical(inner_b)


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b'{"a":1,"a":1}', "the key 'a' stands twice"),
        (b'{"x":{"a":1,"\\u0061":2}}', "the key 'a' stands twice"),
        (b"NaN", "NaN is not JSON"),
        (b"[Infinity]", "Infinity is not JSON"),
        (b"-Infinity", "-Infinity is not JSON"),
        (b"1e999", "too large"),
        (b"\xff", "not UTF-8 (byte 0)"),
        (b"\xed\xa0\x80", "not UTF-8"),
        (b'{"a":', "line 1, column"),
        (b"", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"\xef\xbb\xbf{}", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 5000, "not usable JSON"),
    ],
)
def test_what_two_parsers_could_read_differently_is_refused(raw: bytes, said: str) -> None:
    with pytest.raises(CallError) as caught:
        parse(raw)
    assert said in caught.value.message
    assert caught.value.status == 400


@pytest.mark.parametrize("raw", [b'"\\ud800"', b'{"a":["\\udc00x"]}', b'{"\\ud83d":1}'])
def test_a_lone_surrogate_is_not_read(raw: bytes) -> None:
    with pytest.raises(CallError, match="lone surrogate"):
        parse(raw)


@pytest.mark.parametrize("value", ["\ud800", {"a": ["\udc00x"]}, {"\ud83d": 1}], ids=repr)
def test_a_lone_surrogate_has_no_form(value: Any) -> None:
    with pytest.raises(CallError, match="lone surrogate"):
        canonical(value)


def test_what_only_looks_like_a_surrogate_is_text() -> None:
    assert parse(b'"\\\\ud800 \\uD83D\\uDE00 \\ud7ff"') == "\\ud800 😀 \ud7ff"


def test_a_pair_of_surrogates_is_its_character() -> None:
    assert canonical(parse(b'"\\ud83d\\ude00"')) == '"😀"'.encode()


@pytest.mark.parametrize("raw", [b"[]", b"1", b"null", b'"a"'])
def test_a_body_is_an_object(raw: bytes) -> None:
    with pytest.raises(CallError, match="not a JSON object"):
        parse_object(raw)


def test_deep_schemas_are_refused_and_not_survived_by_luck() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"properties": deep}
    with pytest.raises(CallError, match="nested too deeply"):
        canonical(deep)
