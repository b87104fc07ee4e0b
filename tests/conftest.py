"""Fixtures that all tests share."""

from __future__ import annotations

from pathlib import Path

import pytest

_SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public traces and log samples beside the checkout; skips where it is absent."""
    if not (_SHARED / "data").is_dir():
        pytest.skip("no ../shared")
    return _SHARED / "data"
