"""What requests cost, where the log counts tokens and does not say: from the prices of their models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edgeinf.analyze.log import Log
from edgeinf.analyze.spill import shelved
from edgeinf.core.pricing import Prices

__all__ = ["fill_costs", "input_price"]


def fill_costs(log: Log, prices: Prices) -> int:
    """Give the log a column of costs where it has none; return how many requests have a known price."""
    if log.usd is not None or log.input is None or log.output is None:
        return 0
    known = (log.input >= 0) & (log.output >= 0)
    rates = []
    for group in log.groups:
        price = prices.price(group.model) if group.model else None
        if price is None or price.input is None or price.output is None:
            rates.append((np.nan, np.nan, np.nan))
            continue
        cached = price.input if price.cached is None else price.cached
        rates.append((price.input / 1e6, price.output / 1e6, cached / 1e6))
    table = np.array(rates or [(np.nan,) * 3])[log.group]
    cached_tokens = np.maximum(log.cached, 0) if log.cached is not None else np.zeros(log.rows)
    fresh = np.maximum(log.input - cached_tokens, 0)
    usd = fresh * table[:, 0] + log.output * table[:, 1] + cached_tokens * table[:, 2]
    usd[~known] = np.nan
    if bool(np.isnan(usd).all()):
        return 0
    log.usd = shelved(usd.astype(np.float32))
    return int((~np.isnan(usd)).sum())


def input_price(prices: Prices) -> Callable[[str], float | None]:
    """Return a look-up of USD per token of input by model."""
    found: dict[str, float | None] = {}

    def of(model: str) -> float | None:
        if model not in found:
            price = prices.price(model) if model else None
            found[model] = None if price is None or price.input is None else price.input / 1e6
        return found[model]

    return of
