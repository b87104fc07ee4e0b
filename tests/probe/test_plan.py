from collections import Counter

import pytest

from edgeinf.probe.plan import Plan, steps


def _steps(mode: str, rounds: int = 8, seed: int = 1, targets: tuple[str, ...] = ("a", "b", "c")):
    return list(steps(Plan(rounds=rounds, mode=mode, seed=seed, idle_s=7.0), targets, iter(range(rounds))))


@pytest.mark.parametrize("mode", ["both", "cold", "ping", "idle"])
def test_every_target_is_asked_equally_often_in_each_round(mode):
    counts = Counter((s.round, s.target, s.phase) for s in _steps(mode))
    assert set(counts.values()) == {1}
    assert len({Counter(s.target for s in _steps(mode))[t] for t in "abc"}) == 1


def test_the_order_differs_between_rounds_and_is_the_seeds():
    orders = {tuple(s.target for s in _steps("cold") if s.round == n) for n in range(8)}
    assert len(orders) > 2
    assert _steps("cold") == _steps("cold")
    assert _steps("cold", seed=2) != _steps("cold")


def test_some_rounds_measure_cold_connections_too():
    made = _steps("both", rounds=20)
    assert sum(s.phase == "cold" and s.target == "a" for s in made) == 5
    assert sum(s.phase == "warm" and s.target == "a" for s in made) == 20


def test_silence_comes_once_before_each_round():
    assert [s.wait_s for s in _steps("idle", rounds=1)] == [7.0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(("mode", "completions"), [("both", 25), ("cold", 20), ("idle", 40), ("ping", 0)])
def test_the_plan_knows_how_many_completions_it_needs(mode, completions):
    assert Plan(rounds=20, mode=mode).completions == completions
