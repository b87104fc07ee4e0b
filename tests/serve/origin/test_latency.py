"""What a region's times say."""

from __future__ import annotations

import pytest

from edgeinf.serve.origin.latency import Failures, Latency


def test_a_peak_counts_at_once_and_fades_with_time():
    latency = Latency()
    for second in range(10):
        latency.observe(0.1, second)
    latency.observe(0.24, 10)
    assert latency.ewma_s == pytest.approx(0.24)
    for second in range(11, 31):
        latency.observe(0.1, second)
    assert latency.ewma_s == pytest.approx(0.1, rel=0.05)


def test_one_freak_is_bounded():
    latency = Latency()
    latency.observe(0.1, 0)
    latency.observe(60.0, 1)
    assert latency.ewma_s == pytest.approx(0.25)


def test_many_calls_at_one_instant_still_move_the_average():
    latency = Latency()
    latency.observe(1.0, 0)
    for _ in range(200):
        latency.observe(0.1, 0)
    assert latency.ewma_s == pytest.approx(0.1, rel=0.01)


def test_a_peak_that_nothing_confirms_fades_and_one_that_lasts_stays():
    freak, slow = Latency(), Latency()
    for second in range(20):
        freak.observe(0.1, second)
        slow.observe(0.1, second)
    freak.observe(0.25, 20)
    assert freak.expected_s(20) == pytest.approx(0.25)
    assert freak.expected_s(30) == pytest.approx(0.1, rel=0.1)
    for _ in range(10):
        slow.observe(1.0, 20)
    assert slow.expected_s(30) == pytest.approx(1.0, rel=0.1)


def test_a_call_that_waits_is_a_measurement_already():
    latency = Latency()
    latency.observe(0.1, 0)
    latency.set_out("first", 1)
    latency.set_out("second", 4)
    assert latency.expected_s(1.05) == pytest.approx(0.1)
    assert latency.expected_s(5) == pytest.approx(4)
    latency.settle("first")
    assert latency.expected_s(5) == pytest.approx(1)
    latency.settle("second")
    assert latency.expected_s(5) == pytest.approx(0.1)


def test_nothing_is_expected_of_what_was_never_measured():
    assert Latency().expected_s(1) is None


def test_quantiles_need_enough_and_are_of_the_latest():
    latency = Latency()
    for number in range(19):
        latency.observe(number, number)
    assert latency.quantile_s(0.5) is None
    for number in range(1000):
        latency.observe(number % 100, 20 + number)
    assert latency.quantile_s(0.95) == pytest.approx(95, abs=2)


def test_failures_rise_fast_and_are_forgotten():
    failures = Failures(fade_s=10.0)
    for second in range(10):
        failures.observe(failed=True, seconds=3.0, now=second)
    assert failures.ratio(10) > 0.5
    assert failures.waste_s == pytest.approx(3.0, rel=0.01)
    assert failures.ratio(100) < 0.001


def test_a_region_that_never_failed_costs_nothing_to_watch():
    failures = Failures()
    failures.observe(failed=False, seconds=1.0, now=5)
    assert failures.ratio(5) == 0.0


def test_a_region_that_is_back_is_not_held_to_what_was():
    failures = Failures()
    for second in range(10):
        failures.observe(failed=True, seconds=1.0, now=second)
    failures.forget()
    assert failures.ratio(10) == 0.0
