"""Small numbers for equal values."""

from __future__ import annotations

import numpy as np
import pytest

from edgeinf.analyze.dense import densify, mixed, order_of


@pytest.mark.parametrize("count", [10, 200_000], ids=["at once", "in ranges"])
def test_ids_lead_back_to_the_values(count: int) -> None:
    hashes = np.random.default_rng(1).integers(0, 2**64, count, np.uint64)[np.arange(count) % (count // 2)]
    ids, distinct = densify(hashes)
    assert bool((distinct[ids] == hashes).all())
    assert distinct.tolist() == np.unique(hashes).tolist()


def test_nothing_has_no_ids() -> None:
    ids, distinct = densify(np.zeros(0, np.uint64))
    assert (ids.tolist(), distinct.tolist()) == ([], [])


@pytest.mark.parametrize("count", [0, 1, 10, 200_000])
@pytest.mark.parametrize(
    ("most", "kind"), [(3, np.uint32), (90_000, np.uint32), (2**32, np.uint32), (2**64, np.uint64)]
)
def test_an_order_is_by_value_and_then_place(count: int, most: int, kind: type[np.unsignedinteger]) -> None:
    numbers = np.random.default_rng(2).integers(0, most, count, kind)
    assert order_of(numbers).tolist() == np.argsort(numbers, kind="stable").tolist()


def test_neighbours_are_scattered() -> None:
    numbers = mixed(np.arange(1000))
    assert len(np.unique(numbers >> np.uint64(32))) > 990
