"""Statistics that say how sure they are: quantiles with bounds, proportions, differences.

Sources: order-statistic bounds of a quantile, Conover, Practical Nonparametric Statistics (1999), 3.2; Clopper and
Pearson (1934); Wilson (1927); Newcombe, Statistics in Medicine 17 (1998), method 10; circular block bootstrap,
Politis and Romano (1992); Holm (1979). Samples are taken as exchangeable, except in the block bootstrap.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

__all__ = [
    "CONFIDENCE",
    "Bounds",
    "Difference",
    "block_length",
    "bootstrap_difference",
    "holm",
    "newcombe",
    "proportion_bounds",
    "quantile",
    "quantile_bounds",
    "samples_needed",
    "wilson",
]

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """One-sided bounds, each at the given confidence; None where the samples do not reach."""

    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A difference b - a: its value, its two-sided 95 % interval, and the p-value of there being none."""

    value: float
    low: float
    high: float
    p: float


def quantile(values: Sequence[float], p: float) -> float:
    """Return the nearest-rank quantile: the smallest value with at least a share ``p`` at or under it."""
    ordered = sorted(values)
    return ordered[_rank(len(ordered), p) - 1]


def _rank(n: int, p: float) -> int:
    return min(n, max(1, math.ceil(p * n - 1e-9)))


def quantile_bounds(values: Sequence[float], p: float, confidence: float = CONFIDENCE) -> Bounds:
    """Return one-sided bounds of the population's quantile from order statistics; they assume no shape."""
    ordered = sorted(values)
    low, high = _bound_ranks(len(ordered), p, confidence)
    return Bounds(
        low=ordered[low - 1] if low is not None else None,
        high=ordered[high - 1] if high is not None else None,
    )


def samples_needed(p: float, confidence: float = CONFIDENCE) -> int:
    """Return how many samples give both one-sided bounds: 59 for p95, 29 for p90, 299 for p99, 5 for p50."""
    return math.ceil(math.log(1 - confidence) / math.log(max(p, 1 - p)) - 1e-9)


@cache
def _bound_ranks(n: int, p: float, confidence: float) -> tuple[int | None, int | None]:
    """Return the ranks (from 1) of the lower and the upper bound."""
    low = high = None
    for count, below in enumerate(_binomial_cdf(n, p)):  # below = P(X <= count)
        if 1 - below >= confidence:  # P(X >= count + 1)
            low = count + 1
        if below >= confidence:
            high = count + 1 if count < n else None
            break
    return low, high


def _binomial_cdf(n: int, p: float) -> Iterator[float]:
    """Yield P(X <= k) for k = 0, 1, … n."""
    total, log_p, log_q = 0.0, math.log(p), math.log1p(-p)
    top = math.lgamma(n + 1)
    for k in range(n + 1):
        total += math.exp(top - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * log_p + (n - k) * log_q)
        yield min(1.0, total)


@cache
def proportion_bounds(successes: int, n: int, confidence: float = CONFIDENCE) -> Bounds:
    """Return exact one-sided bounds (Clopper and Pearson) of a proportion; None and None without samples."""
    if n == 0:
        return Bounds(low=None, high=None)
    low = 0.0 if successes == 0 else _solve(lambda p: 1 - _cdf_at(successes - 1, n, p), 1 - confidence)
    high = 1.0 if successes == n else _solve(lambda p: 1 - _cdf_at(successes, n, p), confidence)
    return Bounds(low=low, high=high)


def _cdf_at(k: int, n: int, p: float) -> float:
    for count, below in enumerate(_binomial_cdf(n, p)):
        if count == k:
            return below
    return 1.0


def _solve(rising: Callable[[float], float], wanted: float) -> float:
    low, high = 1e-12, 1 - 1e-12
    for _ in range(60):
        middle = (low + high) / 2
        if rising(middle) < wanted:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def wilson(successes: int, n: int, z: float = 1.959964) -> tuple[float, float]:
    """Return Wilson's interval of a proportion; (0, 1) without samples."""
    if n == 0:
        return 0.0, 1.0
    share, z2 = successes / n, z * z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, middle - half), min(1.0, middle + half)


def newcombe(successes_a: int, n_a: int, successes_b: int, n_b: int, z: float = 1.959964) -> tuple[float, float]:
    """Return the interval of the difference of two independent proportions, b - a."""
    if n_a == 0 or n_b == 0:
        return -1.0, 1.0
    a, b = successes_a / n_a, successes_b / n_b
    (low_a, high_a), (low_b, high_b) = wilson(successes_a, n_a, z), wilson(successes_b, n_b, z)
    down = math.hypot(b - low_b, high_a - a)
    up = math.hypot(high_b - b, a - low_a)
    return b - a - down, b - a + up


def block_length(rounds: int) -> int:
    """Return how many neighbouring rounds are drawn together: the cube root of their number."""
    return max(1, round(math.cbrt(rounds)))


def bootstrap_difference(
    a: Sequence[float | None],
    b: Sequence[float | None],
    rng: random.Random,
    *,
    paired: bool = True,
    p: float = 0.5,
    replicates: int = 2000,
) -> Difference | None:
    """Return how quantile ``p`` differs, b - a, by a circular block bootstrap over rounds.

    Position is the round; None is a round without a value. ``paired`` draws the same rounds from both, so that what
    hit both at once cancels. None if either has fewer than five values.
    """
    if min(sum(v is not None for v in side) for side in (a, b)) < samples_needed(0.5):
        return None
    value = _held_quantile(b, p) - _held_quantile(a, p)
    drawn: list[float] = []
    for _ in range(replicates):
        rounds_a = _blocks(len(a), rng)
        rounds_b = rounds_a if paired else _blocks(len(b), rng)
        picked_a = sorted([v for i in rounds_a if (v := a[i]) is not None])
        picked_b = sorted([v for i in rounds_b if (v := b[i]) is not None])
        if picked_a and picked_b:
            drawn.append(picked_b[_rank(len(picked_b), p) - 1] - picked_a[_rank(len(picked_a), p) - 1])
    drawn = sorted(value + (d - value) * _widening(min(len(a), len(b))) for d in drawn)
    return Difference(
        value=value,
        low=drawn[_rank(len(drawn), 0.025) - 1],
        high=drawn[_rank(len(drawn), 0.975) - 1],
        p=_two_sided(drawn),
    )


def _widening(rounds: int) -> float:
    """Return the factor that makes up for the variance which drawing blocks from few rounds loses."""
    return math.sqrt(rounds / max(1, rounds - block_length(rounds)))


def _held_quantile(values: Sequence[float | None], p: float) -> float:
    return quantile([v for v in values if v is not None], p)


def _two_sided(drawn: Sequence[float]) -> float:
    not_above = sum(d <= 0 for d in drawn)
    not_below = sum(d >= 0 for d in drawn)
    return min(1.0, 2 * (min(not_above, not_below) + 1) / (len(drawn) + 1))


def _blocks(n: int, rng: random.Random) -> list[int]:
    length = block_length(n)
    starts = [int(rng.random() * n) for _ in range(-(-n // length))]
    return [(start + step) % n for start in starts for step in range(length)][:n]


def holm(p_values: Sequence[float], *, family: int | None = None) -> list[float]:
    """Return p-values adjusted for many comparisons, in the order given.

    ``family`` is the number of comparisons that could have been made, where only some are looked at because of
    what the data said (all pairs, when the best is compared with the rest).
    """
    count = max(family or 0, len(p_values))
    adjusted, running = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        running = max(running, min(1.0, p_values[index] * (count - place)))
        adjusted[index] = running
    return adjusted
