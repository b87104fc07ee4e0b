from __future__ import annotations

import pytest
from hypothesis import given

from edgeinf.core.normalize.zero_width import RULE
from tests.core.normalize.texts import nasty_texts


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("pass\u200bword\ufeff", "password"),
        ("soft\u00adhyphen", "softhyphen"),
        ("a\u200db", "ab"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("`\u200b``", "`\u200b``"),
        ('"a\u200bb"', '"a\u200bb"'),
    ],
)
def test_what_nobody_sees_goes_and_what_joins_letters_stays(text: str, done: str) -> None:
    assert RULE.apply(text) == done


@given(nasty_texts)
def test_the_rule_is_idempotent(text: str) -> None:
    assert RULE.apply(RULE.apply(text)) == RULE.apply(text)
