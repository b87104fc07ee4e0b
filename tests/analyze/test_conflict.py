"""Answers contradict each other by hard signs only."""

from __future__ import annotations

import pytest

from edgeinf.analyze.conflict import conflict


@pytest.mark.parametrize(
    ("a", "b", "sign"),
    [
        ("It costs 5 euros.", "The price is 5 euros, tax included.", None),
        ("It costs 5 euros.", "It costs 7 euros.", "numbers"),
        ("1,000 pieces", "1000 pieces in all", None),
        ("Yes, you can.", "No, you cannot.", "yes against no"),
        ("I cannot help with that.", "Here is how.", "refusal"),
        ("```py\nx\n```", "Use x.", "code"),
        ('{"a": 1}', '{"a": 2}', "JSON values"),
        ('{"a": 1}', '{"b": 1}', "JSON shape"),
        ('{"a": "a long text of words"}', '{"a": "another text with words"}', None),
        ('{"a": 1}', "one", "JSON shape"),
        ("The sky is blue.", "Blue, as on most days.", None),
    ],
)
def test_only_hard_signs_count(a: str, b: str, sign: str | None) -> None:
    assert conflict(a, b) == conflict(b, a) == sign
