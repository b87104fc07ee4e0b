from __future__ import annotations

import base64
import json
import struct
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.dialects.vectors import rendered, shared_out, width_of


def packed(*floats: float) -> str:
    """Return base64 of 32-bit floats."""
    return base64.b64encode(struct.pack(f"<{len(floats)}f", *floats)).decode()


@pytest.mark.parametrize(
    ("vector", "width"),
    [([], 0), ([1.0, 2], 2), (packed(1, 2, 3), 3), ("", 0), ("???", 0), ("AAA=", 0), (None, 0), (5, 0)],
)
def test_the_width_of_either_form_is_known(vector: Any, width: int) -> None:
    assert width_of(vector) == width


@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=5))
def test_a_vector_survives_both_ways(floats: list[float]) -> None:
    as_text = rendered(msgspec.Raw(json.dumps(floats).encode()), True)
    assert as_text is not None
    assert json.loads(bytes(as_text)) == packed(*floats)
    again = rendered(as_text, False)
    assert again is not None
    assert json.loads(bytes(again)) == floats


@pytest.mark.parametrize(
    ("raw", "as_base64"),
    [
        (b"[1.0]", False),
        (b'"AACAPw=="', True),
        (b'"?"', False),
        (b'["a"]', True),
        (b"null", True),
        (b"[1e300]", True),
        (b'"AAA="', False),
    ],
)
def test_what_has_the_form_already_or_cannot_have_it_is_none(raw: bytes, as_base64: bool) -> None:
    assert rendered(msgspec.Raw(raw), as_base64) is None


@given(st.integers(0, 1000), st.lists(st.integers(1, 50), min_size=1, max_size=6))
def test_shares_add_up(total: int, weights: list[int]) -> None:
    shares = shared_out({"prompt_tokens": total, "note": "x"}, weights)
    assert sum(share["prompt_tokens"] for share in shares if share) == total
    assert all(share is not None and share["note"] == "x" and share["prompt_tokens"] >= 0 for share in shares)


def test_without_usage_there_is_nothing_to_share() -> None:
    assert shared_out(None, [1, 2]) == [None, None]
