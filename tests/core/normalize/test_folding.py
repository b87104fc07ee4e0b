from __future__ import annotations

import pytest
from hypothesis import given

from edgeinf.core.normalize.folding import TYPOGRAPHY, VIEW, WIDTH, folder, holder
from tests.core.normalize.texts import nasty_texts


def test_a_view_is_one_to_one_and_settled() -> None:
    assert all(VIEW.get(target, target) == target for target in VIEW.values())


def test_no_table_makes_a_mark_that_opens_code() -> None:
    assert not {ord("`"), ord("~")} & {*WIDTH.values(), *TYPOGRAPHY.values()}


@pytest.mark.parametrize("table", [TYPOGRAPHY, WIDTH, VIEW], ids=["typography", "width", "view"])
@given(text=nasty_texts)
def test_folding_is_translating(table: dict[int, int], text: str) -> None:
    assert folder(table)(text) == text.translate(table)
    assert holder(table)(text) == any(ord(char) in table for char in text)
