import pytest

from edgeinf.probe.stats import figure, measure, rounds_of, values_of
from tests.probe.made import attempt_of, run_of


@pytest.mark.parametrize(
    ("n", "shown"),
    [
        (4, set()),
        (5, {"median"}),
        (28, {"median"}),
        (29, {"median", "p90"}),
        (59, {"median", "p90", "p95"}),
        (299, {"median", "p90", "p95", "p99"}),
    ],
)
def test_a_quantile_is_shown_only_where_it_can_be_bounded(n, shown):
    found = figure(list(range(n)))
    assert {q for q in ("median", "p90", "p95", "p99") if getattr(found, q) is not None} == shown
    assert (found.min, found.max, found.n) == (0, n - 1, n)


def test_nothing_measured_is_nothing():
    assert figure([]).n == 0
    assert figure([]).min is None


def test_cold_and_warm_are_never_mixed():
    made = [*run_of([10.0] * 6), *run_of([500.0] * 6, phase="cold")]
    measured = measure("a", made)
    assert measured.warm["ttft_ms"].max == 10
    assert measured.cold["ttft_ms"].min == 500


def test_a_bound_is_never_beyond_what_was_seen():
    seen = figure([2.0071031, 0.0541412, 0.1, 0.2, 0.3])
    assert (seen.low, seen.high) == (seen.min, seen.max)


def test_failures_are_counted_by_class_and_have_no_latency():
    measured = measure("a", run_of([10.0, None, 12.0, None]))
    assert (measured.attempts, measured.ok, measured.errors) == (4, 2, {"stall": 2})
    assert measured.warm["ttft_ms"].n == 2
    assert measured.details == {"stall": "output stopped"}


def test_a_successful_check_beforehand_counts_for_nothing():
    made = [attempt_of(phase="preflight", round=-1), *run_of([10.0])]
    assert measure("a", made).attempts == 1


def test_a_check_that_was_repeated_in_another_way_is_no_failure():
    learnt = [attempt_of(phase="preflight", error="no_tokens"), attempt_of(phase="preflight"), *run_of([10.0])]
    assert (measure("a", learnt).attempts, measure("a", learnt).errors) == (1, {})
    refused = [attempt_of(phase="preflight", error="no_tokens"), attempt_of(phase="preflight", error="auth")]
    assert (measure("a", refused).attempts, measure("a", refused).errors) == (1, {"auth": 1})


def test_rounds_keep_their_place_for_paired_comparison():
    assert rounds_of(run_of([10.0, None, 12.0]), "ttft_ms", "warm", 3) == [10.0, None, 12.0]


def test_values_are_those_of_one_phase():
    made = [*run_of([10.0]), *run_of([50.0], phase="cold")]
    assert values_of(made, "ttft_ms", "cold") == [50.0]
    assert values_of(made, "ttft_ms") == [10.0, 50.0]
