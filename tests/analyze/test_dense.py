"""Small numbers for equal values."""

from __future__ import annotations

import numpy as np
import pytest

from edgeinf.analyze.dense import densify, mixed


@pytest.mark.parametrize("count", [10, 200_000], ids=["at once", "in ranges"])
def test_ids_lead_back_to_the_values(count: int) -> None:
    hashes = np.random.default_rng(1).integers(0, 2**64, count, np.uint64)[np.arange(count) % (count // 2)]
    ids, distinct = densify(hashes)
    assert bool((distinct[ids] == hashes).all())
    assert len(distinct) == len(np.unique(hashes)) == int(ids.max()) + 1


def test_neighbours_are_scattered() -> None:
    numbers = mixed(np.arange(1000))
    assert len(np.unique(numbers >> np.uint64(32))) > 990
