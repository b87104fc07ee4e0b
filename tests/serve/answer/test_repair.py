"""JSON out of what was meant as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.serve.answer.repair import repaired

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param('{"a": 1}', {"a": 1}, id="valid"),
        pytest.param('```json\n{"a": 1}\n```', {"a": 1}, id="fence"),
        pytest.param('Sure! {"a": [1, 2,],}', {"a": [1, 2]}, id="commas"),
        pytest.param('{"a": {"b": [1', {"a": {"b": [1]}}, id="open"),
        pytest.param('{"a": "b', {"a": "b"}, id="open-text"),
        pytest.param('{"a":', {"a": None}, id="no-value"),
        pytest.param('{"a": 1, "b"', {"a": 1, "b": None}, id="no-colon"),
        pytest.param('["a", "b"', ["a", "b"], id="open-list"),
        pytest.param('{"a": "line\nbreak"}', {"a": "line\nbreak"}, id="bare-line-end"),
        pytest.param('{"a": 1} and that is all', {"a": 1}, id="words-after"),
    ],
)
def test_what_was_meant_is_made(text: str, value: Any) -> None:
    made = repaired(text)
    assert made is not None
    assert json.loads(made) == value


@pytest.mark.parametrize("text", ["no json here", "", "{]", "{" * 100_000])
def test_what_is_no_json_is_left_alone(text: str) -> None:
    assert repaired(text) is None


@given(VALUES)
def test_valid_json_stays_as_it_is(value: Any) -> None:
    text = json.dumps(value)
    assert repaired(text) == text


@given(st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=4), st.integers(1, 400))
def test_json_cut_anywhere_is_json_or_nothing(value: Any, at: int) -> None:
    made = repaired(json.dumps(value)[:at])
    if made is not None:
        json.loads(made)
