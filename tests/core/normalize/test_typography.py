from __future__ import annotations

import pytest
from hypothesis import given

from edgeinf.core.normalize.typography import RULE
from tests.core.normalize.texts import nasty_texts


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("What’s “It’s”", 'What\'s "It’s"'),
        ("5–10 — a−b", "5-10 - a-b"),
        ("a\u00a0b\u202fc", "a b c"),
        ("`“x”`", "`“x”`"),
        ("…", "…"),
    ],
)
def test_typed_forms_replace_typeset_ones_outside_spans(text: str, done: str) -> None:
    assert RULE.apply(text) == done


@given(nasty_texts)
def test_the_rule_is_idempotent(text: str) -> None:
    assert RULE.apply(RULE.apply(text)) == RULE.apply(text)
