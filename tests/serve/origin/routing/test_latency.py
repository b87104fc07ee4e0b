"""The latency strategy, as a function and over time in a simulated world."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from edgeinf.serve.origin.routing.base import Stats
from edgeinf.serve.origin.routing.latency import choose, expected_s


def share(stats: dict[str, Stats], *, seed: int = 0, calls: int = 4000) -> Counter[str | None]:
    rng = random.Random(seed)
    return Counter(choose(list(stats), stats, rng) for _ in range(calls))


def test_a_far_region_gets_no_more_than_it_takes_to_know_it():
    drawn = share({"near": Stats(latency_s=0.05), "mid": Stats(latency_s=0.15), "far": Stats(latency_s=0.3)})
    assert drawn["near"] / 4000 > 0.97


def test_a_region_never_measured_is_tried():
    assert share({"known": Stats(latency_s=0.05), "new": Stats(age_s=1e9)})["new"] > 2000


def test_load_moves_calls_to_the_next_region():
    stats = {"near": Stats(latency_s=0.1, in_flight=60, limit=64), "far": Stats(latency_s=0.15, limit=64)}
    assert share(stats)["far"] / 4000 > 0.9


def test_failures_cost_what_another_try_costs():
    good, bad = Stats(latency_s=0.2), Stats(latency_s=0.1, fail_ratio=0.5, waste_s=1.0)
    assert expected_s(bad) > expected_s(good)
    assert expected_s(Stats(latency_s=0.1, fail_ratio=0.01, waste_s=0.1)) < expected_s(good)
    assert share({"good": good, "bad": bad})["good"] / 4000 > 0.9


def test_what_was_measured_longest_ago_is_measured_again():
    stats = {
        "a": Stats(latency_s=0.05, age_s=1),
        "b": Stats(latency_s=0.2, age_s=5),
        "c": Stats(latency_s=0.3, age_s=90),
    }
    drawn = share(stats)
    assert drawn["c"] / 4000 == pytest.approx(0.02, abs=0.01)


def test_one_region_needs_no_choice():
    assert choose(["only"], {}, random.Random(0)) == "only"
