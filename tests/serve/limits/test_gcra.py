"""The bucket kept as one number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.serve.limits import gcra


def arrival(tat: float, now: float, cost: float, capacity: float, period_s: float) -> float:
    return gcra.step(tat, now, cost, capacity, period_s)[0]


def fits(tat: float, now: float, cost: float, capacity: float, period_s: float) -> float:
    return gcra.step(tat, now, cost, capacity, period_s)[1]


def passes(capacity: float, period_s: float, costs: list[float], gaps: list[float], start: float) -> list[float]:
    """Return the costs that fit, asked for one after the other with gaps between."""
    tat, now, passed = start, start, []
    for cost, gap in zip(costs, gaps, strict=True):
        now += gap
        if fits(tat, now, cost, capacity, period_s) == 0.0:
            tat = arrival(tat, now, cost, capacity, period_s)
            passed.append(cost)
    return passed


@pytest.mark.parametrize("capacity", [1, 3, 7, 60, 1000])
@pytest.mark.parametrize("start", [0.0, 1.7e9], ids=["early", "late"])
def test_exactly_the_capacity_passes_at_once(capacity: int, start: float) -> None:
    asked = capacity + 5
    assert len(passes(capacity, 60.0, [1.0] * asked, [0.0] * asked, start)) == capacity


@given(
    costs=st.lists(st.floats(1, 50), min_size=1, max_size=60),
    gaps=st.lists(st.floats(0, 3), min_size=60, max_size=60),
)
def test_never_more_than_the_capacity_and_what_has_flowed_back(costs: list[float], gaps: list[float]) -> None:
    gaps = gaps[: len(costs)]
    assert sum(passes(100, 60.0, costs, gaps, 0.0)) <= 100 + sum(gaps[1:]) * 100 / 60 + 1e-3


def test_a_refusal_says_when_it_would_fit() -> None:
    tat = arrival(0.0, 0.0, 10, 10, 60.0)
    wait = fits(tat, 0.0, 1, 10, 60.0)
    assert wait == pytest.approx(6.0)
    assert fits(tat, wait, 1, 10, 60.0) == 0.0


def test_what_is_given_back_can_be_used_and_no_more() -> None:
    tat = arrival(0.0, 0.0, 10, 10, 60.0)
    tat = gcra.give_back(tat, -4, 10, 60.0)
    assert gcra.used(tat, 0.0, 10, 60.0) == pytest.approx(6)
    assert fits(tat, 0.0, 4, 10, 60.0) == 0.0
    assert fits(tat, 0.0, 5, 10, 60.0) > 0


def test_more_than_was_taken_is_owed() -> None:
    tat = gcra.give_back(arrival(0.0, 0.0, 1, 10, 60.0), 19, 10, 60.0)
    assert gcra.reset_s(tat, 0.0) == pytest.approx(120)


@given(st.floats(0, 200), st.floats(0, 100), st.floats(0, 50))
def test_a_step_says_what_it_makes_of_the_counter(tat: float, now: float, cost: float) -> None:
    after, _, used, reset_s = gcra.step(tat, now, cost, 10, 60.0)
    assert used == pytest.approx(gcra.used(after, now, 10, 60.0), abs=1e-9)
    assert reset_s == pytest.approx(gcra.reset_s(after, now), abs=1e-9)
