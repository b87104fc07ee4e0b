"""Labels of requests."""

from __future__ import annotations

import pytest

from edgeinf.analyze.questions import label
from edgeinf.analyze.record import Record
from tests.analyze.making import ask


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("a\n  b", "a b"),
        ("x" * 500, "x" * 119 + "…"),
        ("my key is sk-abcdefghijklmnop1234", "my key is ***"),
    ],
    ids=["one line", "cut", "redacted"],
)
def test_a_label_is_one_short_line_without_secrets(question: str, shown: str) -> None:
    assert label(Record(request=ask(question)["request"])) == shown


def test_no_content_has_no_label() -> None:
    assert label(Record()) is None
