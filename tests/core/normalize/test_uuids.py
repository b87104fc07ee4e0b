from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.normalize.uuids import MASK, RULE


@given(st.uuids())
def test_a_uuid_in_a_sentence_is_masked(uuid: UUID) -> None:
    assert RULE.apply(f"for {uuid}.") == RULE.apply(f"for {str(uuid).upper()}.") == f"for {MASK}."


@pytest.mark.parametrize(
    "text",
    ["https://x.io/550e8400-e29b-41d4-a716-446655440000", "a-b-c-d-e", "x550e8400-e29b-41d4-a716-446655440000"],
)
def test_urls_and_other_words_stay(text: str) -> None:
    assert RULE.apply(text) == text
