"""Tokens in the words of each API family."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.analyze.usage import usage_of
from edgeinf.core.call import Usage


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
         Usage(input_tokens=9, output_tokens=2, cached_tokens=4)),
        ({"input_tokens": 3, "output_tokens": 2, "cache_read_input_tokens": 4, "cache_creation_input_tokens": 5},
         Usage(input_tokens=12, output_tokens=2, cached_tokens=4, cache_write_tokens=5)),
        ({"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 1}},
         Usage(input_tokens=9, output_tokens=2, cached_tokens=1)),
        ({}, Usage()),
    ],
    ids=["openai chat", "anthropic: disjoint", "openai responses", "none"],
)  # fmt: skip
def test_input_includes_what_was_cached(usage: dict[str, Any], expected: Usage) -> None:
    assert usage_of({"usage": usage}) == expected
