"""What one text of an answer goes through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.serve.answer.channels import TextChannel, Thoughts
from edgeinf.serve.guard.deny import DenyPatterns
from edgeinf.serve.guard.redaction import Redactor


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("<think>hm, a < b</think>\n\nYes.", "Yes."),
        ("\n <think>hm</think>Yes.", "Yes."),
        ("<think>never ends", ""),
        ("plain <think>not at the start</think>", "plain <think>not at the start</think>"),
        ("<thin", "<thin"),
        ("  ", "  "),
        ("", ""),
    ],
)
def test_reasoning_in_tags_is_taken_out_at_the_start(text: str, shown: str) -> None:
    whole, letters = Thoughts(), Thoughts()
    assert whole.feed(text) + whole.close() == shown
    assert "".join(map(letters.feed, text)) + letters.close() == shown


def channel() -> TextChannel:
    """Return a channel with every stage."""
    return TextChannel(
        strip=True,
        deny=DenyPatterns([]),
        redactor=Redactor(("email",)),
        header=lambda: "<<",
        footer=">>",
        denied=lambda denied: None,
    )


@given(
    text=st.text(alphabet="<think>/ ab@.c\n", max_size=80),
    cuts=st.lists(st.integers(1, 9), max_size=30),
    footer=st.booleans(),
)
def test_how_a_text_is_cut_changes_nothing(text: str, cuts: list[int], footer: bool) -> None:
    whole, pieces = channel(), channel()
    expected = channel().whole(text, footer=footer)
    assert whole.feed(text) + whole.close(footer=footer) == expected
    out, at = "", 0
    for cut in cuts:
        out += pieces.feed(text[at : at + cut])
        at += cut
    assert out + pieces.feed(text[at:]) + pieces.close(footer=footer) == expected


def test_an_empty_text_stays_empty() -> None:
    empty = channel()
    assert empty.feed("") + empty.close(footer=True) == ""
