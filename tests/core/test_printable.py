"""No text steers a terminal."""

from __future__ import annotations

import pytest

from edgeinf.core.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 漢 🙂", "plain ü 漢 🙂"),
        ("a\x1b[2Jb", "a\ufffd[2Jb"),
        ("a\x9b2J\x07", "a\ufffd2J\ufffd"),
        ("one\r\n\ttwo", "one\n\ttwo"),
        ("\x00\x7f", "\ufffd\ufffd"),
    ],
    ids=["plain", "escape", "c1", "lines", "others"],
)
def test_control_characters_become_marks(text: str, shown: str) -> None:
    assert printable(text) == shown
