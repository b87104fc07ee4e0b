from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

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


@given(st.text("ab  \t\x0b\x1c\x85\xa0\u2003é", max_size=20))
def test_every_run_outside_what_is_protected_becomes_one_space(text: str) -> None:
    around = [" " if char.isspace() else "" for char in (text[:1], text[-1:])] if text.strip() else ["", ""]
    wanted = around[0] + " ".join(text.split()) + around[1] if text.strip() else text
    assert RULE.apply(text) == wanted
    assert RULE.apply(f'a{text}b "{text}" c{text}d') == f'a{RULE.apply(text)}b "{text}" c{RULE.apply(text)}d' or (
        not text.strip()
    )
