from __future__ import annotations

import pytest

from edgeinf.core.normalize.edges import trim_end, trim_start


@pytest.mark.parametrize(
    ("text", "done"),
    [("\n \n  a", "  a"), ("a\n", "a\n"), ("  a", "  a"), ("\n", "\n"), ("\u00a0\na", "\u00a0\na"), ("", "")],
)
def test_blank_lines_before_go_and_indentation_stays(text: str, done: str) -> None:
    assert trim_start(text) == done


@pytest.mark.parametrize(("text", "done"), [("a \n\t", "a"), (" \n", " \n"), ("a\u00a0", "a\u00a0"), ("", "")])
def test_white_space_after_goes(text: str, done: str) -> None:
    assert trim_end(text) == done
