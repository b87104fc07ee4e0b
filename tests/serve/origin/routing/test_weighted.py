from __future__ import annotations

import random
from collections import Counter

import pytest

from edgeinf.serve.origin.routing.base import Stats
from edgeinf.serve.origin.routing.weighted import choose


def test_shares_follow_the_weights():
    rng = random.Random(1)
    stats = {"a": Stats(weight=3), "b": Stats(weight=1), "c": Stats(weight=0)}
    drawn = Counter(choose("abc", stats, rng) for _ in range(4000))
    assert drawn["a"] / 4000 == pytest.approx(0.75, abs=0.03)
    assert drawn["c"] == 0


def test_a_weight_of_zero_is_never_chosen_even_alone():
    assert choose("a", {"a": Stats(weight=0)}, random.Random(0)) is None
