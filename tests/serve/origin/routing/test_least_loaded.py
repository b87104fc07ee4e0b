from __future__ import annotations

import random
from collections import Counter

import pytest

from edgeinf.serve.origin.routing.base import Stats
from edgeinf.serve.origin.routing.least_loaded import choose


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (Stats(running=4, waiting=3, fill=0.2), Stats(running=40, waiting=0, fill=0.6)),
        (Stats(running=4, waiting=0, fill=0.9), Stats(running=4, waiting=0, fill=0.3)),
        (Stats(in_flight=30, limit=32), Stats(in_flight=30, limit=128)),
        (Stats(running=10, waiting=0, fill=0.1, in_flight=40), Stats(running=10, waiting=0, fill=0.1)),
        (Stats(latency_s=0.4), Stats(latency_s=0.1)),
    ],
    ids=["a queue outweighs all", "fuller cache", "less room", "our own calls since", "equal load: the faster"],
)
def test_b_has_more_room(a: Stats, b: Stats):
    assert {choose("ab", {"a": a, "b": b}, random.Random(seed)) for seed in range(20)} == {"b"}


def test_equal_regions_share():
    rng = random.Random(0)
    drawn = Counter(choose("abc", {name: Stats() for name in "abc"}, rng) for _ in range(3000))
    assert min(drawn.values()) > 800
