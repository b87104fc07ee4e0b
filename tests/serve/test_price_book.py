"""Prices on the request path."""

from __future__ import annotations

import asyncio

import pytest

from edgeinf.core.call import Usage
from edgeinf.core.config.schema import Price
from edgeinf.serve.price_book import PriceBook

USED = Usage(input_tokens=1_000_000, output_tokens=1_000_000)


def test_the_configs_own_prices_are_known_at_once_and_load_nothing() -> None:
    book = PriceBook({"own": Price(input=1.0, output=2.0), "free": None})
    assert book.usd(("own",), USED, 0.0) == pytest.approx(3.0)
    assert book.usd(("free",), USED, 0.0) is None
    assert book.usd(("own",), Usage(), 0.0) is None
    assert book._loading is None


async def test_other_prices_are_known_once_they_are_loaded() -> None:
    book = PriceBook({})
    now = 1_760_000_000.0
    await book.ready("gpt-4o-mini")
    usd = book.usd(("no-such-model-anywhere", "gpt-4o-mini"), USED, now)
    assert usd is not None
    assert usd > 0
    assert book.usd(("no-such-model-anywhere", None), USED, now) is None


async def test_a_hundred_callers_at_once_cause_one_load() -> None:
    book = PriceBook({})
    await asyncio.gather(*(book.ready("gpt-4o") for _ in range(100)))
    loading = book._loading
    await book.ready("gpt-4o")
    assert book._loading is loading
