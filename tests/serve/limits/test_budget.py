"""Money per period."""

from __future__ import annotations

import pytest

from edgeinf.serve.limits import budget

DAY = 86400.0


def test_a_day_ends_at_midnight_utc() -> None:
    noon = 1_700_000_000 // 86400 * 86400 + 43200.0
    assert budget.ends_in_s(noon, DAY) == 43200.0


def test_a_new_period_starts_empty_and_the_present_one_is_kept() -> None:
    purse = budget.Purse(budget.period_of(1000.0, DAY), 5.0)
    assert budget.turned(purse, 2000.0, DAY) is purse
    assert budget.turned(purse, 1000.0 + DAY, DAY).spent == 0.0
    assert budget.turned(None, 0.0, DAY).spent == 0.0


@pytest.mark.parametrize(
    ("spent", "cost", "fits"),
    [
        pytest.param(0.0, 10.0, True, id="all"),
        pytest.param(0.0, 10.1, False, id="more-than-all"),
        pytest.param(9.9, 0.0, True, id="unknown-price-while-some-is-left"),
        pytest.param(10.0, 0.0, False, id="unknown-price-when-none-is-left"),
    ],
)
def test_a_cost_fits_what_is_left(spent: float, cost: float, fits: bool) -> None:
    assert budget.fits(budget.Purse(0, spent), cost, 10.0) is fits
