"""What LiteLLM's formats share."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.analyze.litellm import cache_word, ttft_ms


@pytest.mark.parametrize(
    ("hit", "word"), [(True, "hit"), ("True", "hit"), ("False", "miss"), (False, "miss"), (None, None), ("", None)]
)
def test_cache_hit_in_both_spellings(hit: Any, word: str | None) -> None:
    assert cache_word(hit) == word


def test_a_whole_answer_has_no_first_token() -> None:
    assert ttft_ms({"startTime": 1.0, "completionStartTime": 1.2, "endTime": 2.0}) == 200
    assert ttft_ms({"startTime": 1.0, "completionStartTime": 2.0, "endTime": 2.0}) is None
