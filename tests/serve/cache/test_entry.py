"""An entry proves itself or does not exist."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.call import Usage
from edgeinf.serve.cache.entry import decode, encode
from tests.serve.cache.stored import entry, key


def test_what_was_encoded_comes_back_whole() -> None:
    made = entry(body=b"data: \xf0\x9f\x98\x80\n\n", stream=True, usage=Usage(input_tokens=0), headers=[("a", "b")])
    assert decode(encode(made)) == made


@given(st.binary(max_size=300))
def test_any_body_survives(body: bytes) -> None:
    made = decode(encode(entry(body=body)))
    assert made is not None
    assert made.body == body


@given(st.data())
def test_a_changed_byte_is_noticed_wherever_it_is(data: st.DataObject) -> None:
    raw = bytearray(encode(entry(body=b"an answer of some length")))
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    assert decode(bytes(raw)) is None


@given(st.integers(0, 10_000))
def test_a_cut_entry_is_absent(length: int) -> None:
    raw = encode(entry())
    assert decode(raw[: min(length, len(raw) - 1)]) is None


@given(st.binary(max_size=200))
def test_foreign_bytes_are_absent(raw: bytes) -> None:
    assert decode(raw) is None


def test_another_question_under_the_same_find_key_is_not_returned() -> None:
    assert decode(encode(entry("a")), trust=key("b").trust) is None


@pytest.mark.parametrize(("age_s", "fresh"), [(0.0, True), (59.9, True), (60.0, False), (61.0, False)])
def test_an_entry_is_fresh_until_its_life_ends(age_s: float, fresh: bool) -> None:
    assert entry(stored_at=1000.0).fresh_at(1000.0 + age_s) is fresh


def test_an_endless_life_survives() -> None:
    made = decode(encode(entry(ttl_s=float("inf"))))
    assert made is not None
    assert made.fresh_at(1e11)
