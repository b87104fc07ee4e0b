"""The simulation of a whole log at once against the live cache's own policy, one request after the other."""

from __future__ import annotations

import bisect
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.analyze import simulate as simulating
from edgeinf.analyze.simulate import Outcome, grouped, simulate
from edgeinf.analyze.stack import previous, stack_distances
from edgeinf.core.eviction import LruTtl

TRACE = st.lists(st.tuples(st.integers(0, 12), st.floats(0, 20, width=16), st.booleans()), max_size=120)


def _live(trace: list[tuple[int, float]], ttl_s: float, capacity: int | None) -> list[bool]:
    tier: LruTtl[int, bool] = LruTtl(max_entries=capacity)
    hits = []
    for key, at in trace:
        found = tier.get(key, at)
        hits.append(found is not None)
        if found is None:
            tier.put(key, True, now=at, ttl_s=ttl_s)
    return hits


def _in_small_steps(steps: int, block: int, *args: Any, **kwargs: Any) -> Outcome:
    """Simulate as a log is simulated that takes many blocks, and walks longer than are gone step by step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulating, "_STEPS", steps)
        patch.setattr(simulating, "_BLOCK", block)
        return simulate(*args, **kwargs)


@settings(deadline=None)
@given(TRACE, st.sampled_from([0.5, 2.0, 7.0, 30.0, math.inf]), st.sampled_from([None, 1, 2, 5, 20]))
def test_it_decides_as_the_live_policy_does(
    trace: list[tuple[int, float, bool]], ttl_s: float, capacity: int | None
) -> None:
    at = np.cumsum(np.array([gap for _, gap, _ in trace], np.float64))
    ids = np.array([key for key, _, _ in trace], np.uint32)
    accesses = grouped(ids, np.ones(len(ids), bool), at)
    distances = stack_distances(previous(ids))
    live = _live(list(zip(ids.tolist(), at.tolist(), strict=True)), ttl_s, capacity)
    assert simulate(accesses, ttl_s, distances=distances, capacity=capacity).hit.tolist() == live
    for steps, block in ((0, 1), (2, 10)):
        outcome = _in_small_steps(steps, block, accesses, ttl_s, distances=distances, capacity=capacity)
        assert outcome.hit.tolist() == live


def _by_hand(trace: list[tuple[int, float, bool]], ttl_s: float, running_s: float) -> tuple[list[bool], list[bool]]:
    stored: dict[int, float] = {}
    now, hits, coalesced = 0.0, [], []
    for key, gap, storable in trace:
        now += gap
        done = stored.get(key)
        running = done is not None and now < done
        hit = done is not None and not running and now < done + ttl_s
        hits.append(hit)
        coalesced.append(running)
        if not hit and not running and storable:
            stored[key] = now + running_s
    return hits, coalesced


@settings(deadline=None)
@given(TRACE, st.sampled_from([0.5, 3.0, 11.0, math.inf]), st.sampled_from([0.0, 1.0, 6.0]))
def test_what_fails_is_not_stored_and_what_overlaps_is_coalesced(
    trace: list[tuple[int, float, bool]], ttl_s: float, running_s: float
) -> None:
    at = np.cumsum(np.array([gap for _, gap, _ in trace], np.float64))
    ids = np.array([key for key, _, _ in trace], np.uint32)
    storable = np.array([s for _, _, s in trace], bool)
    running = np.full(len(ids), running_s, np.float32)
    by_hand = _by_hand(trace, ttl_s, running_s)
    for steps, block in ((200, 1 << 16), (0, 1), (2, 10)):
        outcome = _in_small_steps(steps, block, grouped(ids, storable, at, running), ttl_s)
        assert (outcome.hit.tolist(), outcome.coalesced.tolist()) == by_hand


@pytest.mark.needs_data
@pytest.mark.parametrize("alpha", ["0.7", "0.9", "1.1"])
def test_the_generated_zipf_log_gives_the_published_counts(shared_data: Path, alpha: str) -> None:
    expected = json.loads((shared_data / "expected.json").read_text())["zipf_lcg"]["alpha"][alpha]
    ids, at = _zipf(float(alpha))
    assert [[round(t, 6), k] for t, k in zip(at[:5].tolist(), ids[:5].tolist(), strict=True)] == expected["first5"]
    accesses = grouped(ids, np.ones(len(ids), bool), at)
    distances = stack_distances(previous(ids))
    assert int(simulate(accesses).hit.sum()) == expected["infinite"]
    for capacity, hits in expected["lru"].items():
        assert int(((distances >= 0) & (distances < int(capacity))).sum()) == hits
    for ttl, hits in expected["ttl_fixed_inf"].items():
        assert int(simulate(accesses, float(ttl)).hit.sum()) == hits
    for ttl, hits in expected["ttl_fixed_cap100"].items():
        assert int(simulate(accesses, float(ttl), distances=distances, capacity=100).hit.sum()) == hits


def _zipf(alpha: float, n: int = 50_000, keys: int = 5_000, seed: int = 42) -> tuple[np.ndarray, np.ndarray]:
    weights = [1 / (rank + 1) ** alpha for rank in range(keys)]
    total, cdf, acc = sum(weights), [], 0.0
    for weight in weights:
        acc += weight / total
        cdf.append(acc)
    x, now, ids, at = seed, 0.0, [], []
    for _ in range(n):
        x = (6364136223846793005 * x + 1442695040888963407) % 2**64
        now += -math.log(1 - (x >> 11) / 2**53) / 10
        x = (6364136223846793005 * x + 1442695040888963407) % 2**64
        ids.append(min(bisect.bisect_left(cdf, (x >> 11) / 2**53), keys - 1))
        at.append(now)
    return np.array(ids, np.uint32), np.array(at)
