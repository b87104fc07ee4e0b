from __future__ import annotations

import pytest
from hypothesis import given

from edgeinf.core.normalize.closing import RULE
from tests.core.normalize.texts import nasty_texts


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("Where is it?", "Where is it"),
        ("How do I reset my password??!", "How do I reset my password"),
        ("Once upon a time…", "Once upon a time"),
        ('Say "hi".', 'Say "hi"'),
        ("What is `x`?", "What is `x`"),
        ("What is 5?", "What is 5"),
    ],
)
def test_marks_that_only_close_a_sentence_go(text: str, done: str) -> None:
    assert RULE.apply(text) == done


@pytest.mark.parametrize(
    "text",
    [
        "What is 5!", "What is n!", "Evaluate (2+3)!", "What is the meaning of ?", "?!", "...", "a && b &!", "see https://x.io/a.",
        "cd ..", "ls /tmp/..", "no mark",
    ],
)  # fmt: skip
def test_marks_that_may_mean_something_stay(text: str) -> None:
    assert RULE.apply(text) == text


@given(nasty_texts)
def test_the_rule_is_idempotent(text: str) -> None:
    assert RULE.apply(RULE.apply(text)) == RULE.apply(text)
