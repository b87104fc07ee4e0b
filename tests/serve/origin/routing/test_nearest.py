from __future__ import annotations

import random

import pytest

from edgeinf.serve.origin.routing.base import Stats
from edgeinf.serve.origin.routing.nearest import choose

RNG = random.Random(0)


@pytest.mark.parametrize(
    ("distances", "nearest"),
    [([3000.0, 20.0, 900.0], "b"), ([None, 20.0, 900.0], "b"), ([5.0, 5.0, 5.0], "a"), ([9000.0, None, None], "a")],
    ids=["least", "unknown is not near", "tie by order", "only one known"],
)
def test_the_nearest_known_region_is_chosen(distances: list[float | None], nearest: str):
    stats = {name: Stats(distance_km=km) for name, km in zip("abc", distances, strict=True)}
    assert choose("abc", stats, RNG) == nearest


def test_without_a_place_the_fastest_is_chosen():
    stats = {"a": Stats(latency_s=0.4), "b": Stats(latency_s=0.1)}
    assert choose("ab", stats, RNG) == "b"
