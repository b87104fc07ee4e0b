from __future__ import annotations

import pytest
from hypothesis import given

from edgeinf.core.normalize.spaces import RULE
from tests.core.normalize.texts import nasty_texts


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("a  b", "a b"),
        ("a\tb", "a b"),
        ("a\n\nb", "a b"),
        ("\n\n a  b\n ", "\na b\n"),
        ('a  "b  c"  d', 'a "b  c" d'),
        ("a `b  c`  d", "a `b  c` d"),
    ],
)
def test_runs_become_one_space(text: str, done: str) -> None:
    assert RULE.apply(text) == done


@pytest.mark.parametrize("text", ["if x:\n    y()  \nz()", "a\tb\n1\t\t2", "- a\n  - b  c", " ", "\n"])
def test_layout_stays(text: str) -> None:
    assert RULE.apply(text) == text


@given(nasty_texts)
def test_the_rule_is_idempotent(text: str) -> None:
    assert RULE.apply(RULE.apply(text)) == RULE.apply(text)
