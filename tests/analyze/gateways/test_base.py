"""The text of a last message."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.analyze.gateways.base import last_text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"messages": [{"content": "a"}, {"content": "b"}]}, "b"),
        ({"messages": [{"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]}, "ab"),
        ({"input": "x"}, "x"),
        ({"messages": []}, ""),
        ({"messages": [{"content": None}]}, ""),
    ],
)
def test_in_any_shape(body: dict[str, Any], text: str) -> None:
    assert last_text(body) == text
