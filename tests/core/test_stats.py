import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.stats import (
    bootstrap_difference,
    holm,
    newcombe,
    proportion_bounds,
    quantile,
    quantile_bounds,
    samples_needed,
    wilson,
)


def _noise(rng: random.Random, middle: float, n: int) -> list[float]:
    return [middle * (1 + 0.1 * rng.gauss(0, 1)) for _ in range(n)]


@pytest.mark.parametrize(("p", "value"), [(0.5, 5), (0.9, 9), (0.95, 10), (0.99, 10), (0.1, 1)])
def test_quantiles_are_nearest_rank(p, value):
    assert quantile([3, 1, 2, 5, 4, 10, 9, 8, 7, 6], p) == value


@pytest.mark.parametrize(("p", "needed"), [(0.5, 5), (0.9, 29), (0.95, 59), (0.99, 299)])
def test_an_upper_bound_appears_with_the_first_sample_that_allows_it(p, needed):
    assert samples_needed(p) == needed
    assert quantile_bounds(range(needed - 1), p).high is None
    assert quantile_bounds(range(needed), p).high == needed - 1


@given(st.lists(st.floats(0, 1e6), min_size=60, max_size=200), st.sampled_from([0.5, 0.9, 0.95]))
def test_bounds_enclose_the_quantile(values, p):
    bounds = quantile_bounds(values, p)
    assert bounds.low is not None
    assert bounds.low <= quantile(values, p) <= bounds.high


def test_each_bound_holds_in_nineteen_of_twenty_runs():
    rng = random.Random(7)
    true = -math.log(1 - 0.9)
    over = under = 0
    for _ in range(1000):
        bounds = quantile_bounds([rng.expovariate(1) for _ in range(100)], 0.9)
        over += bounds.low > true
        under += bounds.high < true
    assert over <= 65
    assert under <= 65


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(20, 20, 0.8609, 1.0), (0, 20, 0.0, 0.1391), (5, 20, 0.1041, 0.4556), (299, 299, 0.99003, 1.0)],
)
def test_exact_bounds_of_a_proportion(k, n, low, high):
    bounds = proportion_bounds(k, n)
    assert bounds.low == pytest.approx(low, abs=1e-4)
    assert bounds.high == pytest.approx(high, abs=1e-4)


def test_nothing_is_known_of_a_proportion_without_samples():
    assert proportion_bounds(0, 0).low is None
    assert wilson(0, 0) == (0.0, 1.0)
    assert newcombe(0, 0, 1, 2) == (-1.0, 1.0)


def test_wilson_and_newcombe_give_the_published_example():
    low, high = wilson(81, 263)
    assert (low, high) == (pytest.approx(0.2553, abs=1e-4), pytest.approx(0.3662, abs=1e-4))
    low, high = newcombe(48, 80, 56, 70)  # Newcombe 1998, example (a): 56/70 - 48/80
    assert (low, high) == (pytest.approx(0.0524, abs=1e-4), pytest.approx(0.3339, abs=1e-4))


def test_equal_distributions_are_told_apart_in_at_most_one_run_of_twenty():
    told = 0
    for seed in range(200):
        rng = random.Random(seed)
        found = bootstrap_difference(_noise(rng, 100, 20), _noise(rng, 100, 20), rng, replicates=400)
        told += found.p < 0.05
    assert told <= 18  # 5 % and three standard deviations


def test_five_per_cent_are_told_apart_with_enough_rounds():
    rng = random.Random(3)
    found = bootstrap_difference(_noise(rng, 100, 200), _noise(rng, 105, 200), rng)
    assert found.p < 0.05
    assert 0 < found.low < found.value < found.high


def test_what_hits_both_at_once_cancels_where_rounds_are_paired():
    rng = random.Random(5)
    weather = [rng.choice([0, 200]) for _ in range(60)]
    a = [w + v for w, v in zip(weather, _noise(rng, 100, 60), strict=True)]
    b = [w + v for w, v in zip(weather, _noise(rng, 130, 60), strict=True)]
    paired = bootstrap_difference(a, b, random.Random(1))
    alone = bootstrap_difference(a, b, random.Random(1), paired=False)
    assert paired.high - paired.low < alone.high - alone.low


def test_lost_rounds_are_left_out_and_too_few_say_nothing():
    assert bootstrap_difference([1, 2, None, 3, 4], [1, 2, 3, 4, 5], random.Random(1)) is None
    assert bootstrap_difference([1, 2, None, 3, 4, 5], [9, 9, 9, 9, 9, 9], random.Random(1)).value == 6


def test_the_same_seed_gives_the_same_interval():
    a, b = _noise(random.Random(1), 100, 30), _noise(random.Random(2), 100, 30)
    assert bootstrap_difference(a, b, random.Random(4)) == bootstrap_difference(a, b, random.Random(4))


def test_holm_steps_down_and_never_reverses_an_order():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.01], family=10) == pytest.approx([0.1])
    assert holm([]) == []
