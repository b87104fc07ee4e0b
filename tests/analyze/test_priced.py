"""Costs from prices where the log has only tokens."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.core.config.schema import Price
from tests.analyze.making import ask, run, write

ROWS = [ask(at=n, model="own", input_tokens=1_000_000, output_tokens=500_000, cached_tokens=400_000) for n in range(2)]
PRICE = Price(input=2.0, output=4.0, cached_input=0.5)


def test_the_config_s_price_counts_cached_input_apart(tmp_path: Path) -> None:
    found = run(write(tmp_path / "log", ROWS), prices={"own": PRICE})
    assert found.default is not None
    assert (found.priced, found.default.worth.usd) == (2, pytest.approx(0.6 * 2 + 0.4 * 0.5 + 0.5 * 4))


def test_the_log_s_own_costs_stay(tmp_path: Path) -> None:
    found = run(write(tmp_path / "log", [{**row, "cost_usd": 7} for row in ROWS]), prices={"own": PRICE})
    assert found.default is not None
    assert (found.priced, found.default.worth.usd) == (0, 7)


def test_an_unknown_model_costs_nothing_known(tmp_path: Path) -> None:
    found = run(write(tmp_path / "log", ROWS), prices={"own": None})
    assert found.default is not None
    assert (found.priced, found.default.worth.usd) == (0, None)
