"""Fixtures of the tests that share something between nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serve.fleet.real_redis import RealRedis, real_redis


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RealRedis]:
    """A real Redis that keeps nothing on disk."""
    with real_redis(tmp_path) as made:
        yield made
