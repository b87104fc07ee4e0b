"""From differences to causes that can be acted on."""

from __future__ import annotations

import pytest

from edgeinf.analyze.causes import advice, cause_of, same_question
from edgeinf.analyze.diff import Difference

CLOCK = Difference("$.messages[0].content", "system", "timestamp", "10:00", "10:01")
WORDS = Difference("$.messages[-1].content", "user", "span", "red", "blue")


def test_words_of_the_user_make_another_question() -> None:
    assert cause_of(WORDS) is None
    assert same_question([CLOCK, WORDS]) is None


def test_a_clock_in_the_system_prompt_is_named_and_can_be_masked() -> None:
    causes = same_question([CLOCK])
    assert causes is not None
    assert [c.what for c in causes] == ["a clock or date in the system prompt"]
    assert "mask: [timestamps]" in advice(causes)


@pytest.mark.parametrize(
    ("difference", "word"),
    [
        (Difference("$.tools", "", "order", "", ""), "sort tools"),
        (Difference("$.seed", "", "value", "1", "2"), "seed"),
        (Difference("$.x_request_id", "", "uuid", "", ""), "metadata"),
        (Difference("$.messages[-1].content", "user", "wording", "", ""), "loose"),
        (Difference("$.messages[-1].content", "user", "timestamp", "", ""), "user:timestamps"),
        (Difference("$.temperature", "", "value", "0", "1"), "one value"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.path,
)
def test_the_advice_fits_the_cause(difference: Difference, word: str) -> None:
    cause = cause_of(difference)
    assert cause is not None
    assert word in advice(frozenset({cause}))
