"""What clients are told of their limits."""

from __future__ import annotations

import pytest

from edgeinf.core.config.schema import Limit
from edgeinf.serve.limits import report
from edgeinf.serve.limits.base import Charge, Level, Taken
from edgeinf.serve.limits.terms import Term, Terms


def term(limit: str, kind: str, capacity: float) -> Term:
    """Return the bound that such a charge is made for."""
    asked = {"requests": {"requests": (capacity, 60.0)}, "tokens": {"tokens": (capacity, 60.0)}}
    found = Terms([Limit(name=limit, **asked.get(kind, {"concurrency": round(capacity)}))])  # type: ignore[arg-type]
    return (*found.early.terms, *found.late.terms)[0]


def charge(limit: str, kind: str, capacity: float, cost: float = 1.0) -> Charge:
    """Return a charge per minute."""
    return Charge(limit=limit, kind=kind, subject="s", capacity=capacity, period_s=60.0, cost=cost)  # type: ignore[arg-type]


LIMITED = [charge("l", "requests", 5)], [term("l", "requests", 5)]
SPENT = [charge("l", "budget", 5)], [term("l", "requests", 5)]


def test_headers_show_every_limit_and_the_tightest_under_the_old_names() -> None:
    terms = [term("wide", "requests", 100), term("tight", "requests", 5), term("slots", "concurrency", 3)]
    found = dict(report.headers(zip(terms, [Level(1, 0.6), Level(4, 48.0), Level(1, 0)], strict=True)))
    assert found[b"ratelimit-policy"] == b'"wide-requests";q=100;w=60, "tight-requests";q=5;w=60'
    assert found[b"ratelimit"] == b'"wide-requests";r=99;t=1, "tight-requests";r=1;t=48'
    assert found[b"x-ratelimit-limit-requests"] == b"5"
    assert found[b"x-ratelimit-remaining-requests"] == b"1"
    assert found[b"x-ratelimit-reset-requests"] == b"48s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, b"0ms"), (0.12, b"120ms"), (1.0, b"1s"), (360.0, b"6m0s"), (3661.0, b"1h1m1s")],
)
def test_durations_read_as_the_sdks_expect_them(seconds: float, text: bytes) -> None:
    found = dict(report.headers([(term("l", "tokens", 10), Level(1, seconds))]))
    assert found[b"x-ratelimit-reset-tokens"] == text


def test_a_limit_without_a_window_has_no_headers() -> None:
    assert report.headers([(term("slots", "concurrency", 3), Level(1, 0))]) == []


def test_retry_after_is_whole_seconds_and_at_least_one() -> None:
    error = report.refusal(
        [charge("l", "requests", 5)],
        [term("l", "requests", 5)],
        Taken(levels=(Level(5, 60),), refused=0, retry_s=0.2),
        "key:a",
    )
    assert ("retry-after", "1") in error.headers


def test_a_wait_of_days_is_not_to_be_tried_again() -> None:
    error = report.refusal(
        [charge("l", "budget", 5)],
        [term("l", "requests", 5)],
        Taken(levels=(Level(5, 9e5),), refused=0, retry_s=9e5),
        "key:a",
    )
    assert ("x-should-retry", "false") in error.headers


def test_a_name_cannot_break_out_of_its_header() -> None:
    found = dict(report.headers([(term('a"b\\cé', "requests", 5), Level(1, 1))]))
    assert found[b"ratelimit-policy"].startswith(b'"a?b?c?-requests"')
