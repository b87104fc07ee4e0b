"""What a call cost and what the cache saved."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.core.call import Call, Usage
from edgeinf.core.config.schema import Price
from edgeinf.core.dialects import by_name
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.price_book import PriceBook
from edgeinf.serve.steps.price import price

BOOK = PriceBook({"m": Price(input=1.0, output=1.0)})


@pytest.mark.parametrize(
    ("cache", "usd", "saved"),
    [("miss", 2.0, None), ("bypass", 2.0, None), ("hit", 0.0, 2.0), ("collapsed", 0.0, 2.0), ("stale", 0.0, 2.0)],
)
def test_only_what_the_origin_made_costs(cache: str, usd: float, saved: float | None) -> None:
    nothing: Any = None
    x = Exchange("POST", "/v1/chat/completions", "", {}, "", nothing, nothing)
    x.call = Call(dialect="openai-chat", path=x.path, model="m", body={})
    x.dialect = by_name("openai-chat")
    x.usage, x.cache = Usage(input_tokens=1_000_000, output_tokens=1_000_000), cache
    price(x, BOOK, 0.0)
    assert (x.usd, x.usd_saved) == (usd, saved)


def test_what_was_not_understood_has_no_price() -> None:
    nothing: Any = None
    x = Exchange("POST", "/v1/files", "", {}, "", nothing, nothing)
    price(x, BOOK, 0.0)
    assert (x.usd, x.usd_saved) == (None, None)
