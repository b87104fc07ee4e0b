"""Meanings are values that can be compared and kept."""

from __future__ import annotations

from edgeinf.analyze.meaning import Context, Meaning


def test_contexts_that_are_equal_are_one_key() -> None:
    assert len({Context(model="a"): 1, Context(model="a"): 2, Context(model="b"): 3}) == 2


def test_a_meaning_without_a_reason_may_be_cached() -> None:
    assert Meaning(Context(), ((1,),)).reason is None
