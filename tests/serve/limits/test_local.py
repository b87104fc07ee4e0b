"""The counters of one process."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.clock import FakeClock
from edgeinf.serve.limits.base import Charge
from edgeinf.serve.limits.local import LocalLimiter


def charge(kind: Any = "requests", cost: float = 1.0, **fields: Any) -> Charge:
    """Return a charge of a limit of ten per minute."""
    made: dict[str, Any] = {"limit": "l", "subject": "s", "capacity": 10.0, "period_s": 60.0, **fields}
    return Charge(kind=kind, cost=cost, **made)


def test_one_charge_that_does_not_fit_leaves_every_counter_as_it_was() -> None:
    limiter = LocalLimiter(FakeClock())
    tight = charge("tokens", 20.0)
    taken = limiter.take_now([charge(), charge("concurrency", period_s=0.0), charge("budget"), tight])
    assert (taken.refused, taken.retry_s) == (3, None)
    assert len(limiter) == 0


def test_a_refusal_says_when_to_come_again_and_that_is_true() -> None:
    clock = FakeClock()
    limiter = LocalLimiter(clock)
    for _ in range(10):
        limiter.take_now([charge()])
    refused = limiter.take_now([charge()])
    assert refused.retry_s == pytest.approx(6.0)
    clock.advance(6.0)
    assert limiter.take_now([charge()]).refused is None


def test_a_slot_comes_back_and_never_goes_below_none() -> None:
    limiter = LocalLimiter(FakeClock())
    slot = charge("concurrency", capacity=1.0, period_s=0.0)
    assert limiter.take_now([slot]).refused is None
    assert limiter.take_now([slot]).refused == 0
    for _ in range(3):
        limiter.settle("c", slot, 0.0)
    assert limiter.take_now([slot]).refused is None
    assert limiter.take_now([slot]).refused == 0


@given(actual=st.floats(0, 30))
def test_settling_leaves_what_was_used(actual: float) -> None:
    limiter = LocalLimiter(FakeClock())
    taken = charge("tokens", 8.0)
    limiter.take_now([taken])
    limiter.settle("c", taken, actual)
    level = limiter.take_now([charge("tokens", 0.0)]).levels[0]
    assert level.used == pytest.approx(actual, abs=1e-4)


@pytest.mark.parametrize("kind", ["requests", "budget"])
def test_counters_that_are_empty_again_are_forgotten_and_others_never(kind: Any) -> None:
    clock = FakeClock()
    limiter = LocalLimiter(clock)
    limiter.take_now([charge(kind, 10.0, subject="full", period_s=1e9)])
    for _ in range(5):
        for n in range(5000):
            limiter.take_now([charge(subject=f"s{n}", period_s=1.0)])
        clock.advance(10)
    assert len(limiter) < 12_000
    assert limiter.take_now([charge(kind, 1.0, subject="full", period_s=1e9)]).refused == 0


def test_with_too_many_counters_in_use_a_new_one_is_refused_and_the_old_ones_hold() -> None:
    limiter = LocalLimiter(FakeClock(), most=5000)
    statuses = [limiter.take_now([charge(subject=f"s{n}")]).refused for n in range(5100)]
    assert statuses[:5000] == [None] * 5000
    assert statuses[5000:] == [0] * 100
    assert limiter.take_now([charge(subject="s1")]).refused is None


def test_budgets_outlive_the_process_and_other_counters_need_not() -> None:
    clock = FakeClock()
    first = LocalLimiter(clock)
    first.take_now([charge("budget", 7.0), charge("requests")])
    second = LocalLimiter(clock)
    second.restore(json.loads(json.dumps(first.purses())))
    assert second.take_now([charge("budget", 4.0)]).refused == 0
    assert second.take_now([charge("budget", 3.0)]).refused is None
    clock.advance(60.0)
    assert second.purses() == {}


def test_a_late_settlement_does_not_fill_the_next_periods_purse() -> None:
    clock = FakeClock()
    limiter = LocalLimiter(clock)
    late = charge("budget", 7.0)
    limiter.take_now([late])
    clock.advance(60.0)
    limiter.settle("c", late, 1.0)
    assert limiter.take_now([charge("budget", 10.0)]).refused is None


def test_the_free_share_is_what_is_left() -> None:
    limiter = LocalLimiter(FakeClock())
    limiter.take_now([charge("tokens", 4.0)])
    assert limiter.spare(charge("tokens")) == pytest.approx(0.6)
