from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.normalize import lower_case
from edgeinf.core.normalize.lower_case import RULE
from tests.core.normalize.texts import nasty_texts


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("What Is THIS?", "what is this?"),
        ("Maße und Masse", "maße und masse"),
        ("two PDFs of mL", "two pdfs of mL"),
        ("Use GetUser, HTTPServer and MAX_N", "use GetUser, HTTPServer and MAX_N"),
        ("Run grep -V Now", "run grep -V now"),
        ("Read 'The Book' or \"It\"", "read 'The Book' or \"It\""),
        ("It's Bob's, isn't It", "it's bob's, isn't it"),
        ("Öl und GetÜber", "öl und GetÜber"),
        ("Open /Etc/Hosts Now", "open /Etc/Hosts now"),
    ],
)
def test_natural_language_is_lowered_and_names_are_not(text: str, done: str) -> None:
    assert RULE.apply(text) == done


@given(nasty_texts)
def test_the_rule_is_idempotent(text: str) -> None:
    assert RULE.apply(RULE.apply(text)) == RULE.apply(text)


_PIECES = [
    "Get",
    "User",
    "URL",
    "s",
    "É",
    "é",
    "Я",
    "я",
    "Σ",
    "Ⓐ",
    "İ",
    "世",
    "_",
    "-",
    "X",
    "x",
    "9",
    " ",
    "(",
    ", ",
    "·",
]


@given(st.lists(st.sampled_from(_PIECES), max_size=12).map("".join))
def test_every_word_is_lowered_or_kept_as_if_it_was_looked_at(text: str) -> None:
    assert RULE.apply(text) == lower_case._FLAG_OR_WORD.sub(lower_case._lower_word, text)
