from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.eviction import LruTtl


def zipf(alpha: float, count: int) -> Iterator[tuple[float, int]]:
    """Yield (time, key) of a Zipf log over 5,000 keys, from a generator anyone can rebuild."""
    weights = [1 / rank**alpha for rank in range(1, 5001)]
    total = sum(weights)
    cdf = [reached / total for reached in accumulate(weights)]
    state, at = 42, 0.0
    for _ in range(count):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        at -= math.log(1 - (state >> 11) / 2**53) / 10
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        yield at, bisect_left(cdf, (state >> 11) / 2**53)


def hits(alpha: float, capacity: int | None, ttl_s: float) -> int:
    """Return the hits of a Zipf log."""
    cache: LruTtl[int, bool] = LruTtl(max_entries=capacity)
    found = 0
    for at, key in zipf(alpha, 50_000):
        if cache.get(key, at):
            found += 1
        else:
            cache.put(key, True, now=at, ttl_s=ttl_s)
    return found


# alpha, capacity, ttl in seconds, hits: computed with two independent simulators
@pytest.mark.parametrize(
    ("alpha", "capacity", "ttl_s", "wanted"),
    [
        (0.9, None, math.inf, 45352),
        (0.9, 10, math.inf, 4142),
        (0.9, 1000, math.inf, 32632),
        (0.9, None, 60, 21525),
        (0.9, 100, 300, 15536),
        (1.1, 100, 60, 27337),
    ],
)
def test_hits_are_those_of_other_simulators(alpha: float, capacity: int | None, ttl_s: float, wanted: int) -> None:
    assert hits(alpha, capacity, ttl_s) == wanted


@pytest.mark.needs_data
def test_all_published_figures_are_reproduced(shared_data: Path) -> None:
    expected: dict[str, Any] = json.loads((shared_data / "expected.json").read_text())["zipf_lcg"]["alpha"]["0.7"]
    for capacity, wanted in expected["lru"].items():
        assert hits(0.7, int(capacity), math.inf) == wanted
    for ttl_s, wanted in expected["ttl_fixed_cap100"].items():
        assert hits(0.7, 100, float(ttl_s)) == wanted


class Model:
    """The rule in its plainest words."""

    def __init__(self, most: int | None, weight: int | None) -> None:
        self.most, self.weight = most, weight
        self.rows: list[tuple[int, float, int]] = []

    def get(self, key: int, now: float) -> bool:
        for row in self.rows:
            if row[0] == key and now < row[1]:
                self.rows.remove(row)
                self.rows.append(row)
                return True
        return False

    def put(self, key: int, now: float, ttl_s: float, size: int) -> None:
        self.rows = [row for row in self.rows if row[0] != key]
        if (self.weight is not None and size > self.weight) or self.most == 0:
            return
        self.rows.append((key, now + ttl_s, size))
        while (self.most is not None and len(self.rows) > self.most) or (
            self.weight is not None and sum(row[2] for row in self.rows) > self.weight
        ):
            self.rows.pop(0)


_steps = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3), st.sampled_from([1.0, 3.0, math.inf])), max_size=40)


@given(_steps, st.sampled_from([None, 0, 1, 3]), st.sampled_from([None, 2, 5]))
def test_the_map_does_what_the_rule_says(
    steps: list[tuple[int, int, float]], most: int | None, weight: int | None
) -> None:
    cache: LruTtl[int, int] = LruTtl(max_entries=most, max_size=weight)
    model = Model(most, weight)
    for now, (key, size, ttl_s) in enumerate(steps):
        assert (cache.get(key, now) is not None) is model.get(key, now)
        if now % 2:
            cache.put(key, now + 1, now=now, ttl_s=ttl_s, size=size)
            model.put(key, now, ttl_s, size)
        assert list(cache) == [row[0] for row in model.rows]
        assert cache.size == sum(row[2] for row in model.rows)
        assert len(cache) == len(model.rows)


def test_an_expired_entry_is_a_miss_keeps_its_place_and_can_be_looked_at() -> None:
    cache: LruTtl[str, int] = LruTtl()
    cache.put("a", 1, now=0, ttl_s=10)
    assert cache.get("a", 9.9) == 1
    assert cache.get("a", 10) is None
    assert cache.peek("a") == (10, 1)
    assert cache.pop("a") == 1
    assert cache.pop("a") is None
    assert cache.peek("a") is None


def test_what_goes_is_returned_oldest_first_and_counted() -> None:
    cache: LruTtl[str, int] = LruTtl(max_size=3)
    assert cache.put("a", 1, now=0, ttl_s=9) == cache.put("b", 2, now=0, ttl_s=9) == []
    assert cache.put("c", 3, now=0, ttl_s=9, size=3) == [("a", 1), ("b", 2)]
    assert cache.put("huge", 4, now=0, ttl_s=9, size=4) == [("huge", 4)]
    assert cache.evicted == 2
    cache.clear()
    assert (len(cache), cache.size) == (0, 0)
