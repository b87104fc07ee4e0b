from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given

from edgeinf.core.normalize.width import RULE
from tests.core.normalize.texts import nasty_texts


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("ＡＢＣ？", "ABC?"),
        ("ｶﾀｶﾅ", "カタカナ"),
        ("a\u3000b", "a b"),
        ("2⁵ ½ ﬁ", "2⁵ ½ ﬁ"),
        ("“Ａ”", "“Ａ”"),
        ("｀～", "｀～"),
    ],
)
def test_only_width_is_unified(text: str, done: str) -> None:
    assert RULE.apply(text) == done


@given(nasty_texts)
def test_the_rule_is_idempotent_and_agrees_with_compatibility_forms(text: str) -> None:
    done = RULE.apply(text)
    assert RULE.apply(done) == done
    assert unicodedata.normalize("NFKC", done) == unicodedata.normalize("NFKC", text)
