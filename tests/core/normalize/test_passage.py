from __future__ import annotations

import pytest

from edgeinf.core.normalize import line_ends
from edgeinf.core.normalize.passage import Passage

_PLAIN = Passage(text=(line_ends.RULE,))


@pytest.mark.parametrize(
    ("text", "done"),
    [
        ("\n\n a\r\n ", " a"),
        ("\n```\r\na \n```\n\n", "```\r\na \n```"),
        ("a\n```\nopen \n", "a\n```\nopen \n"),
        ("```\n \n```\n  \n tail \n", "```\n \n```\n  \n tail"),
    ],
)
def test_ends_are_trimmed_outside_code_only(text: str, done: str) -> None:
    assert _PLAIN.normal(text) == done


def test_the_middle_of_a_message_keeps_its_ends() -> None:
    assert _PLAIN.normal("\na ", first=False, last=False) == "\na "
