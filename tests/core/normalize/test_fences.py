from __future__ import annotations

import pytest
from hypothesis import given

from edgeinf.core.normalize.fences import split, split_from
from tests.core.normalize.texts import nasty_texts


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\n```py\nb\n```\nc", ["```py\nb\n```\n"]),
        ("~~~\na\n```\n~~~\nb", ["~~~\na\n```\n~~~\n"]),
        ("````\n```\n````", ["````\n```\n````"]),
        ("1. ```\n   a\n   ```\nb", ["1. ```\n   a\n   ```\n"]),
        ("> ```\n> a\n> ```\nb", ["> ```\n> a\n> ```\n"]),
        ("```\nnever closed", ["```\nnever closed"]),
        ("inline ```x``` only", []),
        ("```x``` at a line's start", []),
        ("```\na\n``` not a close\n```", ["```\na\n``` not a close\n```"]),
    ],
)
def test_fences_are_found(text: str, code: list[str]) -> None:
    assert [piece for is_code, piece in split(text) if is_code] == code


@given(nasty_texts)
def test_pieces_join_to_the_text(text: str) -> None:
    assert "".join(piece for _, piece in split(text)) == text


def test_a_text_may_begin_inside_a_fence() -> None:
    assert split_from("a\n```\nb", "```") == ([(True, "a\n```\n"), (False, "b")], "")
    assert split_from("a", "```") == ([(True, "a")], "```")
