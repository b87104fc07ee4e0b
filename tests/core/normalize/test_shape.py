from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.normalize.shape import digit_runs, finds, shape_of


@given(st.text("ab09 ٣世") | st.text("a1 "))
def test_runs_are_those_of_the_pattern(text: str) -> None:
    assert digit_runs(text) == [found.span() for found in re.finditer("[0-9]+", text)]


def test_a_shape_keeps_places() -> None:
    assert shape_of("Get_User 10:00!") == b"Aaa_Aaaa 00:00!"


def test_finds_are_in_order_and_may_overlap() -> None:
    assert finds(b"aAAA_A", [b"AA", b"_A"]) == [1, 2, 4]
