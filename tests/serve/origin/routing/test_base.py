"""Every strategy keeps the contract."""

from __future__ import annotations

import random

import pytest

from edgeinf.core.config.schema import Routing
from edgeinf.serve.origin.routing import STRATEGIES, Stats

WORLDS = {
    "nothing known": {name: Stats() for name in "abc"},
    "all known": {
        name: Stats(
            latency_s=0.1 * n, age_s=n, fail_ratio=0.1 * n, in_flight=n, limit=9, running=n, waiting=n, fill=0.1 * n,
            weight=n, priority=n, distance_km=100.0 * n,
        )
        for n, name in enumerate("abc", 1)
    },
}  # fmt: skip


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("world", WORLDS)
def test_one_of_the_regions_is_chosen_and_the_same_draw_gives_the_same(strategy: str, world: str):
    stats = WORLDS[world]
    for seed in range(50):
        chosen = STRATEGIES[strategy](["a", "c"], stats, random.Random(seed))
        assert chosen in ("a", "c")
        assert chosen == STRATEGIES[strategy](["a", "c"], stats, random.Random(seed))


def test_every_strategy_of_the_config_is_there():
    kinds = Routing.__annotations__["strategy"]
    assert set(STRATEGIES) == {word.strip(" \"'") for word in kinds[len("Literal[") : -1].split(",")}
