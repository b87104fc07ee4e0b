"""Stack distances against a cache that is really kept, and against another simulator."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.analyze.stack import previous, stack_distances


def _by_keeping(ids: list[int], capacity: int) -> int:
    cache: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for key in ids:
        hits += key in cache
        cache[key] = None
        cache.move_to_end(key)
        if len(cache) > capacity:
            cache.popitem(last=False)
    return hits


@settings(deadline=None)
@given(st.lists(st.integers(0, 30), max_size=200), st.integers(1, 35))
def test_a_distance_below_the_capacity_is_a_hit_of_a_real_lru(ids: list[int], capacity: int) -> None:
    distances = stack_distances(previous(np.array(ids, np.uint32)))
    assert int(((distances >= 0) & (distances < capacity)).sum()) == _by_keeping(ids, capacity)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_counts_equal_those_of_libcachesim_on_random_traces(seed: int) -> None:
    libcachesim = pytest.importorskip("libcachesim", reason="libcachesim is not installed")
    ids = np.random.default_rng(seed).zipf(1.2, 20_000).clip(max=3000).astype(np.uint32)
    distances = stack_distances(previous(ids))
    for capacity in (1, 10, 100, 1000):
        cache = libcachesim.LRU(cache_size=capacity)
        hits = sum(cache.get(libcachesim.Request(obj_id=int(key), obj_size=1)) for key in ids)
        assert int(((distances >= 0) & (distances < capacity)).sum()) == hits
