"""A minute of mixed load: what is taken is given back. ``tests/benchmarks/soak.py`` runs as long as one likes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.soak import run

CONNECTIONS = 32


@pytest.mark.timeout(180)
async def test_memory_descriptors_and_tasks_are_flat_after_the_warm_up(tmp_path: Path) -> None:
    soak = await run(tmp_path, seconds=60, connections=CONNECTIONS)
    assert soak.wrong == []
    assert min(soak.answers[kind] for kind in ("hit", "miss", "stream", "left")) > 50
    assert soak.growth(soak.memory_mib) < 10
    assert soak.growth(soak.files) < CONNECTIONS / 2
    assert soak.growth(soak.tasks) < CONNECTIONS / 2
    # What may stay: connections to the origin that wait for their next call.
    assert soak.left_over[0] <= CONNECTIONS + 8
    assert soak.left_over[1] <= 2
    assert soak.dropped_events == 0
