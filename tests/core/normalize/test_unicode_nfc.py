from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.normalize.unicode_nfc import RULE


@pytest.mark.parametrize(
    ("text", "done"), [("cafe\u0301", "caf\u00e9"), ("2⁵", "2⁵"), ("ＡＢ", "ＡＢ"), ("ascii", "ascii")]
)
def test_composition_is_canonical_only(text: str, done: str) -> None:
    assert RULE.apply(text) == done


@given(st.text())
def test_the_rule_is_idempotent_and_makes_no_backtick(text: str) -> None:
    done = RULE.apply(text)
    assert RULE.apply(done) == done
    assert done.count("`") == text.count("`")
