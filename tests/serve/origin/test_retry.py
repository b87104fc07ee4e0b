"""Which failures are tried again, when, and how many at most."""

from __future__ import annotations

from email.utils import formatdate

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.serve.origin.retry import Budget, backoff_s, retry_after_s, retryable

NOW = 1_700_000_000.0
DEFAULT = ("connect", "timeout", "429", "5xx", "bad-answer")


@pytest.mark.parametrize("cause", ["connect", "timeout", "bad-answer", "429", "500", "503", "529"])
def test_the_defaults_cover(cause: str):
    assert retryable(cause, DEFAULT)


@pytest.mark.parametrize("cause", ["400", "401", "404", "422", "full", "resting"])
def test_the_defaults_leave_out(cause: str):
    assert not retryable(cause, DEFAULT)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ([(b"retry-after", b"7")], 7.0),
        ([(b"retry-after", b"0.5")], 0.5),
        ([(b"retry-after", b"0")], 0.0),
        ([(b"retry-after-ms", b"250")], 0.25),
        ([(b"retry-after", b"9"), (b"retry-after-ms", b"1500")], 1.5),
        ([(b"retry-after", formatdate(NOW + 12, usegmt=True).encode())], 12.0),
        ([(b"retry-after", formatdate(NOW - 12, usegmt=True).encode())], 0.0),
        ([(b"retry-after", b"86400")], 3600.0),
        ([(b"retry-after", b"soon")], None),
        ([(b"retry-after", b"-3")], None),
        ([(b"retry-after", b"nan")], None),
        ([(b"retry-after", b"inf")], None),
        ([(b"retry-after", b"")], None),
        ([], None),
    ],
    ids=lambda value: str(value),
)
def test_retry_after_in_its_three_forms(headers: list[tuple[bytes, bytes]], seconds: float | None):
    assert retry_after_s(headers, NOW) == seconds


def test_backoff_grows_and_is_bounded():
    assert backoff_s(1, 0.0) == pytest.approx(0.05)
    assert backoff_s(2, 1.0) == pytest.approx(0.2)
    assert backoff_s(50, 1.0) == 1.0


def test_extra_tries_stay_a_share_of_the_calls():
    clock, budget = FakeClock(), Budget(0.2)
    allowed = 0
    for _ in range(6000):  # a minute of a hundred calls per second, all failing
        budget.count(clock.monotonic())
        allowed += budget.spend(clock.monotonic())
        clock.advance(0.01)
    assert 6000 * 0.2 <= allowed <= 6000 * 0.2 + 120
    assert budget.denied == 6000 - allowed


def test_little_traffic_is_always_allowed_some():
    clock, budget = FakeClock(), Budget(0.2)
    budget.count(clock.monotonic())
    assert all(budget.spend(clock.monotonic()) for _ in range(10))
    assert not budget.spend(clock.monotonic())
    clock.advance(60)
    assert budget.spend(clock.monotonic())


def test_a_share_of_nothing_is_nothing():
    clock, budget = FakeClock(), Budget(0.0)
    budget.count(clock.monotonic())
    assert not budget.spend(clock.monotonic())
