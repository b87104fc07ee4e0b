import pytest

from edgeinf.core.errors import UsageError
from edgeinf.mock import ThreadedOrigin
from edgeinf.probe.gate import parse_slo
from edgeinf.probe.plan import Plan
from edgeinf.probe.run import Run
from edgeinf.probe.session import Session, with_model
from edgeinf.probe.transport import Route
from tests.probe.made import QUICK, target_of

_ROUTE = Route(timeouts=QUICK)


def test_a_session_leads_from_targets_to_a_recommendation():
    with ThreadedOrigin({"ttft": "5ms"}) as near, ThreadedOrigin({"ttft": "60ms"}) as far:
        targets = [target_of(far.url, name="far"), target_of(near.url, name="near")]
        run = Run(targets, Plan(rounds=8), _ROUTE)
        session = Session(run, _ROUTE)
        session.go(iter(range(8)), None)
        outcome = session.outcome([parse_slo("ttft_ms.p50 < 5s")], 15)
    assert outcome.recommendation.region == "near"
    assert outcome.recommendation.indistinguishable == []
    assert {g.outcome for g in outcome.gates} == {"pass"}
    assert outcome.overhead_ms > 0


def test_an_interrupt_keeps_what_was_measured():
    def stop(attempt):
        if len(run.attempts) == 5:
            raise KeyboardInterrupt

    with ThreadedOrigin({}) as origin:
        run = Run([target_of(origin.url)], Plan(rounds=50), _ROUTE, on_attempt=stop)
        session = Session(run, _ROUTE)
        session.go(iter(range(50)), None)
    assert session.interrupted
    assert len(session.outcome([], 15).attempts["origin"]) == 5


def test_the_only_model_is_meant_and_several_are_named():
    with ThreadedOrigin({"models": ["only"]}) as origin:
        assert with_model(target_of(origin.url, model=""), _ROUTE).model == "only"
        origin.use({"models": ["one", "two"]})
        with pytest.raises(UsageError, match="it serves one, two"):
            with_model(target_of(origin.url, model=""), _ROUTE)
