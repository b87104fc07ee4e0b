"""A level that remembers gives what the level gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.analyze.remembered import remembering
from edgeinf.core.normalize.levels import LEVELS, level

NAMES = tuple(LEVELS)
PIECES = [
    "  Hello ", "WORLD", "\n", "2026-11-01T10:00:00Z", " req_8f3a2b1c9d ", "Request ID: 8f3a2b1c", "```", "\r\n", "é",
    "‘x’", "'a  B'", "/Path/X", " \t", "`Code`", "550e8400-e29b-41d4-a716-446655440000", ".", "!", "\x1a", "~~~",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=12).map(lambda p: "".join(p) * 3)


@pytest.mark.parametrize(
    "masks", [None, ("timestamps", "uuids", "user:request-ids"), ()], ids=["default", "own", "none"]
)
@settings(deadline=None)
@given(texts=st.lists(TEXTS, min_size=1, max_size=3))
def test_texts_come_out_as_from_the_level_itself(masks: tuple[str, ...] | None, texts: list[str]) -> None:
    levels = remembering(NAMES, masks)
    for text in [*texts, *texts]:
        for name, one in zip(NAMES, levels, strict=True):
            own = level(name) if masks is None else level(name, masks)
            for role in ("system", "user"):
                assert one.content(role, text) == own.content(role, text)
