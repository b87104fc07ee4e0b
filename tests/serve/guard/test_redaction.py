"""Personal data and secrets are taken out, whole or as the text arrives, and nothing else is."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.serve.guard.redaction import WINDOW, Redactor

ALL = Redactor(("email", "phone", "credit-card", "secrets"))

FOUND = [
    ("write to jane.doe+x@mail.example.co.uk.", "write to [email]."),
    ("<a@b.de>", "<[email]>"),
    ("mail:a@b.de,c@d.fr", "mail:[email],[email]"),
    ("call +1 (415) 555-2671 now", "call [phone] now"),
    ("call +49 30 901820", "call [phone]"),
    ("0049 30 1234567!", "[phone]!"),
    ("(415) 555-2671", "[phone]"),
    ("415-555-2671", "[phone]"),
    ("030 / 1234567", "030 / 1234567"),
    ("030 1234567", "[phone]"),
    ("01 23 45 67 89", "[phone]"),
    ("card 4111 1111 1111 1111.", "card [card]."),
    ("4111-1111-1111-1111", "[card]"),
    ("378282246310005", "[card]"),
    ("key sk-abcDEF0123456789 used", "key [secret] used"),
    ("token=ghp_abcdefghijklmnopqrstuvwxyz0123", "token=[secret]"),
]

KEPT = [
    "on 2027-12-31 at 12:30:45",
    "01.02.2024",
    "from 192.168.100.200 to 10.0.0.1",
    "version 1.2.3-4",
    "order 4111 1111 1111 1112",
    "pi is 3.14159265358979",
    "1700000000",
    "id 123456789012",
    "a@b",
    "user@localhost",
    "x = a @ b.c",
    "skip-this-word",
    "日本語のテキスト",
    "1,234,567.89 EUR",
]


@pytest.mark.parametrize(("text", "shown"), FOUND)
def test_what_is_looked_for_is_found(text: str, shown: str) -> None:
    assert ALL(text) == shown


@pytest.mark.parametrize("text", KEPT)
def test_what_only_looks_alike_is_kept(text: str) -> None:
    assert ALL(text) == text


def test_only_the_kinds_asked_for_are_taken_out_and_counted() -> None:
    found: Counter[str] = Counter()
    assert Redactor(("email",))("a@b.de +49 30 901820", found) == "[email] +49 30 901820"
    assert found == {"email": 1}


PIECES = st.sampled_from(
    [
        *(text for text, _ in FOUND),
        *KEPT,
        *"0123456789 +-().@\n",
        "sk-",
        "a" * 70,
        "x" * (WINDOW + 9),
        "世",
        "é",
        ". ",
        "@mail.de",
        "4111 1111",
        " 1111 1111",
    ]
)


@given(parts=st.lists(PIECES, max_size=14), cuts=st.lists(st.integers(1, 60), min_size=1, max_size=40))
def test_a_text_in_pieces_comes_out_as_the_whole_does(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    stream = ALL.stream()
    out, at = "", 0
    for cut in cuts:
        out += stream.feed(text[at : at + cut])
        at += cut
    out += stream.feed(text[at:]) + stream.close()
    assert out == ALL(text)


@given(text=st.text(alphabet="a1@. +-(é日", max_size=200))
def test_any_text_letter_by_letter_comes_out_as_the_whole_does(text: str) -> None:
    stream = ALL.stream()
    assert "".join(map(stream.feed, text)) + stream.close() == ALL(text)


@pytest.mark.parametrize(
    "text", ["plain words all along ", "日本語の文章がつづく", "x" * 5000], ids=["words", "cjk", "run"]
)
def test_no_more_than_a_window_is_held_back(text: str) -> None:
    stream = ALL.stream()
    shown = 0
    for fed, letter in enumerate(text * 3, 1):
        shown += len(stream.feed(letter))
        assert fed - shown <= WINDOW + 2


def test_words_are_held_back_no_longer_than_they_last() -> None:
    stream = ALL.stream()
    assert stream.feed("one two thr") == "one two "


def test_a_secret_longer_than_the_window_is_taken_out_to_its_end() -> None:
    text = "sk-" + "a" * 2000 + " end"
    stream = ALL.stream()
    assert "".join(stream.feed(text[n : n + 50]) for n in range(0, len(text), 50)) + stream.close() == "[secret] end"


def test_a_megabyte_of_what_could_be_anything_is_no_bomb() -> None:
    import time

    started = time.perf_counter()
    for text in ("a" * 10**6, "1 " * 500_000, "a@" * 500_000, "(" * 10**6):
        ALL(text)
        stream = ALL.stream()
        stream.feed(text)
        stream.close()
    assert time.perf_counter() - started < 30


def test_every_form_of_secret_is_found_by_how_it_begins() -> None:
    import re

    from edgeinf.core.redact import KEY_FORMS
    from edgeinf.serve.guard.redaction import _PREFIXES

    for form in KEY_FORMS.split("|"):
        begins = re.match(r"[A-Za-z0-9_-]+", form)
        assert begins is not None
        marks = [mark for mark, starts in _PREFIXES.items() if begins[0].startswith(starts)]
        # What stands for the form must be in every text of that form.
        assert any(mark in re.sub(r"\[[^]]*\]", "", form) for mark in marks), form


@given(parts=st.lists(PIECES, max_size=8))
def test_what_is_thought_impossible_is_nowhere(parts: list[str]) -> None:
    from edgeinf.serve.guard.redaction import _pattern, _possible

    text = "".join(parts)
    for kind in ALL.kinds:
        assert _possible(kind, text) or _pattern((kind,)).search(text) is None
