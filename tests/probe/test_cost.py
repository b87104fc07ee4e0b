import pytest

from edgeinf.core.config.schema import Price
from edgeinf.core.pricing import Prices
from edgeinf.probe.cost import estimate, is_local, price_of
from edgeinf.probe.plan import Plan
from edgeinf.probe.run import Run
from edgeinf.probe.transport import Route
from tests.probe.made import attempt_of, target_of

_PRICES = Prices({"m": Price(input=1.0, output=10.0), "secret": None})


def _estimate(url: str, model: str, **plan):
    return estimate(Run([target_of(url, model=model)], Plan(**plan), Route()), _PRICES)


def test_the_estimate_is_the_most_that_a_run_can_cost():
    found = _estimate("https://api.example.com", "m", rounds=20)
    assert found.completions == 27
    assert 27 * 16 * 10 / 1e6 < found.usd < 0.05


def test_an_unknown_price_is_named_and_not_taken_for_nothing():
    assert _estimate("https://api.example.com", "secret").unknown == ["secret"]


def test_this_machine_and_pings_cost_nothing():
    assert _estimate("http://127.0.0.1:1", "m").usd == 0
    assert _estimate("https://api.example.com", "m", mode="ping").completions == 0
    assert is_local(target_of("http://localhost:1"))


def test_an_attempt_costs_what_the_server_counted():
    price = price_of({"a": target_of("https://api.example.com", model="m")}, _PRICES)
    assert price(attempt_of(input_tokens=1000, output_tokens=100)) == pytest.approx(0.002)
    assert price(attempt_of()) is None
