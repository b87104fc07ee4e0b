from __future__ import annotations

import pytest

from edgeinf.core.normalize.lead import RULE


@pytest.mark.parametrize(("text", "done"), [("  a", "a"), ("  a\nb", "  a\nb"), (" ", " "), ("", ""), ("a", "a")])
def test_only_a_single_line_loses_what_stands_before_it(text: str, done: str) -> None:
    assert RULE.apply(text) == done
