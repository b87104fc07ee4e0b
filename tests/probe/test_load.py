"""The open loop: what was due while the server stood still has waited, and the figures say so."""

import pytest

from edgeinf.mock import ThreadedOrigin
from edgeinf.probe.load import run_load
from edgeinf.probe.plan import Plan
from edgeinf.probe.run import Run
from edgeinf.probe.stats import measure, values_of
from edgeinf.probe.transport import Route
from tests.probe.made import QUICK, target_of

_PATIENT = QUICK.__class__(connect_s=5, first_s=20, idle_s=20, total_s=30)


def _run(url: str, rounds: int) -> Run:
    run = Run([target_of(url)], Plan(rounds=rounds), Route(timeouts=_PATIENT))
    run.check()
    return run


def test_a_freeze_of_two_seconds_shows_in_every_request_that_was_due_meanwhile():
    rule = {"when": {"nth": 30}, "fault": "freeze;for=2s"}
    with ThreadedOrigin({"ttft": "5ms", "rules": [rule]}) as origin:
        run = _run(origin.url, 120)
        load = run_load(run, "origin", 40.0)
        run.close()
    waited = sorted(values_of([a for a in run.attempts if a.open_loop], "ttft_ms"))
    assert load.sent == 120
    assert load.dropped == 0
    # 2 s at 40 per second: some 80 requests were due, the n-th of them waited 2 s less n / 40
    assert sum(v > 100 for v in waited) >= 60
    assert sum(v > 1000 for v in waited) >= 30
    assert waited[-1] == pytest.approx(2000, rel=0.25)


def test_without_a_freeze_nothing_waits_and_connections_are_kept():
    with ThreadedOrigin({"ttft": "5ms"}) as origin:
        run = _run(origin.url, 40)
        load = run_load(run, "origin", 100.0)
        run.close()
    measured = measure("origin", run.attempts)
    assert measured.load["ttft_ms"].n == 40
    assert measured.load["ttft_ms"].median < 200
    assert load.connections_opened < 40


def test_requests_beyond_the_limit_in_flight_are_dropped_and_counted():
    with ThreadedOrigin({"ttft": "300ms"}) as origin:
        run = _run(origin.url, 20)
        load = run_load(run, "origin", 200.0, in_flight=3)
        run.close()
        assert origin.peak <= 3
    assert load.dropped > 0
    assert load.sent + load.dropped == load.scheduled == 20
    assert load.max_in_flight == 3
    assert measure("origin", run.attempts).errors == {"dropped": load.dropped}, "a drop is a failure, not a gap"
