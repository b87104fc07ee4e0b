from __future__ import annotations

import pytest

from edgeinf.core.call import Usage
from edgeinf.core.config.schema import Price as Override
from edgeinf.core.pricing import Price, Prices

_MILLION = Usage(input_tokens=1_000_000, output_tokens=1_000_000)


@pytest.mark.parametrize("model", ["gpt-4o-mini", "openai/gpt-4o-mini", "text-embedding-3-small", "claude-sonnet-4-5"])
def test_known_models_have_a_price(model: str) -> None:
    found = Prices().price(model)
    assert found is not None
    assert found.input is not None
    assert found.input > 0
    assert found.source == "genai-prices"


def test_an_unknown_model_has_none() -> None:
    assert Prices().price("support-bot") is None
    assert Prices().usd("support-bot", _MILLION) is None


def test_the_config_overrides_and_null_means_unknown() -> None:
    prices = Prices({"gpt-4o": Override(input=1.0, output=2.0, cached_input=0.5), "gpt-4": None})
    assert prices.price("gpt-4o") == Price(input=1.0, output=2.0, cached=0.5, source="config")
    assert prices.usd("gpt-4o", _MILLION) == pytest.approx(3.0)
    assert prices.price("gpt-4") is None


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (Usage(input_tokens=10, output_tokens=2), 10 * 3 + 2 * 15),
        (Usage(input_tokens=10, output_tokens=2, cached_tokens=4), 6 * 3 + 4 * 0.3 + 2 * 15),
        (Usage(input_tokens=10, output_tokens=2, cached_tokens=4, cache_write_tokens=6), 4 * 0.3 + 6 * 3.75 + 2 * 15),
        (Usage(input_tokens=0, output_tokens=0), 0),
        (Usage(output_tokens=2), None),
        (Usage(input_tokens=10), None),
    ],
    ids=["plain", "cached", "written", "nothing", "no input", "no output"],
)
def test_each_kind_of_token_costs_its_own(usage: Usage, usd: float | None) -> None:
    price = Price(input=3.0, output=15.0, cached=0.3, cache_write=3.75)
    assert price.usd(usage) == (None if usd is None else pytest.approx(usd / 1_000_000))


def test_an_unknown_price_of_a_kind_falls_back_to_inputs() -> None:
    price = Price(input=3.0, output=15.0)
    assert price.usd(Usage(input_tokens=10, output_tokens=0, cached_tokens=4)) == pytest.approx(30 / 1_000_000)


def test_embeddings_have_no_output_to_pay() -> None:
    assert Price(input=0.02, output=None).usd(Usage(input_tokens=1_000_000)) == pytest.approx(0.02)


def test_long_input_costs_its_tier_and_old_calls_their_day() -> None:
    prices = Prices()
    short, long = prices.price("claude-sonnet-4-5"), prices.price("claude-sonnet-4-5", input_tokens=200_001)
    assert short is not None
    assert long is not None
    assert long.input == 2 * (short.input or 0)
    assert prices.price("gpt-4o-mini", at=1_720_000_000.0) is not None
