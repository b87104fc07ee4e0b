from __future__ import annotations

from edgeinf.core.normalize.latest import Latest


def test_a_text_is_looked_at_once_while_it_is_the_latest() -> None:
    seen: list[str] = []
    lengths = Latest(lambda text: seen.append(text) or len(text))  # type: ignore[func-returns-value]
    first, second = "ab " * 3, "c " * 7
    assert [lengths(first), lengths(first), lengths(second), lengths(first)] == [9, 9, 14, 9]
    assert seen == [first, second, first]


def test_what_is_noted_is_not_looked_for() -> None:
    lengths: Latest[int] = Latest(len)
    text = "ab " * 3
    lengths.note(text, 42)
    assert lengths(text) == 42


def test_a_very_long_text_is_not_held_on_to() -> None:
    lengths: Latest[int] = Latest(len)
    text = "a" * (2 * 2**20)
    lengths.note(text, 42)
    assert lengths(text) == len(text)
