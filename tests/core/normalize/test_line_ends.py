from __future__ import annotations

import pytest
from hypothesis import given

from edgeinf.core.normalize.line_ends import RULE
from tests.core.normalize.texts import nasty_texts


@pytest.mark.parametrize(
    ("text", "done"), [("a\r\nb", "a\nb"), ("a\rb", "a\rb"), ("a\r\r\nb", "a\r\r\nb"), ("a\nb", "a\nb")]
)
def test_crlf_becomes_lf(text: str, done: str) -> None:
    assert RULE.apply(text) == done


@given(nasty_texts)
def test_the_rule_is_idempotent(text: str) -> None:
    assert RULE.apply(RULE.apply(text)) == RULE.apply(text)
