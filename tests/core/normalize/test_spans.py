from __future__ import annotations

import pytest
from hypothesis import given

from edgeinf.core.normalize.spans import outside, protected
from tests.core.normalize.texts import nasty_texts


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('say "a b" now', ["a b"]),
        ("say “a b” now", ["a b"]),
        ("say 'don't do' it", ["don't do"]),
        ("it's Bob's dog", []),
        ("the dogs' bowls' rim", []),
        ('a 5" disk and 3" more', []),
        ("`a b` and ``c ` d``", ["`a b`", "``c ` d``"]),
        ("`open and more", []),
        ("see https://a.io/b?c=d, ok", ["https://a.io/b?c=d,"]),
        ("in C:\\Temp\\x and /etc/hosts", ["C:\\Temp\\x", "/etc/hosts"]),
        ("«a» ‹b› 「c」", ["a", "b", "c"]),
        ("他说“Hello”吧", ["Hello"]),
        ('{"a": "say \\"Hi\\" There"}', ["a", 'say \\"Hi\\" There']),
        ('"He said “Hi” Now"', ["He said “Hi” Now"]),
        ('“He said "Hi" Now”', ['“He said "Hi" Now”']),
        ("‘It’s Here’ he said", ["It’s Here"]),
        ("„Guten Tag“ und „Hallo”", ["Guten Tag", "Hallo"]),
        ("say“Hi”", ["“Hi”"]),
        ("“open and more", []),
    ],
)
def test_spans_are_found(text: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in protected(text)] == found


@given(nasty_texts)
def test_spans_are_in_order_and_do_not_overlap(text: str) -> None:
    edges = [edge for span in protected(text) for edge in span]
    assert edges == sorted(edges)
    assert all(0 <= edge <= len(text) for edge in edges)


@given(nasty_texts)
def test_nothing_is_lost_outside(text: str) -> None:
    assert outside(text, lambda part: part) == text
