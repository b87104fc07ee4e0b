"""What editors share."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.dialects.editing import wants_json, without_reasoning


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ({"response_format": {"type": "json_object"}}, True),
        ({"response_format": {"type": "json_schema", "json_schema": {}}}, True),
        ({"response_format": {"type": "text"}}, False),
        ({"text": {"format": {"type": "json_schema"}}}, True),
        ({"output_config": {"format": {"type": "json_schema"}}}, True),
        ({"text": "json"}, False),
        ({}, False),
    ],
)
def test_a_call_for_json_is_known_in_every_dialect(body: dict[str, Any], wanted: bool) -> None:
    assert wants_json(body) is wanted


def test_a_message_without_reasoning_is_the_very_same() -> None:
    message = {"role": "assistant", "content": "x"}
    assert without_reasoning(message) is message
    assert without_reasoning({**message, "reasoning_content": "hm"}) == message
