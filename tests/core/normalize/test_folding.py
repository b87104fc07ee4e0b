from __future__ import annotations

from edgeinf.core.normalize.folding import TYPOGRAPHY, VIEW, WIDTH


def test_a_view_is_one_to_one_and_settled() -> None:
    assert all(VIEW.get(target, target) == target for target in VIEW.values())


def test_no_table_makes_a_mark_that_opens_code() -> None:
    assert not {ord("`"), ord("~")} & {*WIDTH.values(), *TYPOGRAPHY.values()}
