import itertools

import pytest

from edgeinf.core.errors import RemoteError, UsageError
from edgeinf.mock import ThreadedOrigin
from edgeinf.probe.figures import figures
from edgeinf.probe.plan import Plan
from edgeinf.probe.request import Asked
from edgeinf.probe.run import Run, list_models, run_rounds
from edgeinf.probe.transport import Route
from tests.probe.made import QUICK, target_of

_ROUTE = Route(timeouts=QUICK)


def _go(targets, plan, **given) -> Run:
    run = Run(targets, plan, _ROUTE, **given)
    run.check()
    run_rounds(run, iter(range(plan.rounds)))
    run.close()
    return run


def test_two_targets_are_never_asked_at_once():
    with ThreadedOrigin({"ttft": "10ms"}) as one, ThreadedOrigin({"ttft": "10ms"}) as two:
        _go([target_of(one.url, name="one"), target_of(two.url, name="two")], Plan(rounds=4))
        # That its end was sent an origin may find the time to note only after the next has begun elsewhere.
        spans = sorted((c.received_ns, c.token_ns[-1]) for c in (*one.calls, *two.calls))
    assert len(spans) == 2 * (1 + 1 + 4)
    assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(spans))


def test_a_nonce_makes_every_prompt_new_unless_caches_are_the_point():
    with ThreadedOrigin({}) as origin:
        _go([target_of(origin.url)], Plan(rounds=4))
        fresh = {c.body for c in origin.calls}
        assert len(fresh) == origin.count
        origin.reset()
        _go([target_of(origin.url)], Plan(rounds=4, asked=Asked(cached=True)))
        assert len({c.body for c in origin.calls}) == 1


def test_where_sixteen_tokens_show_nothing_more_are_asked_for():
    with ThreadedOrigin({"answer": {"reasoning": 20, "tokens": 10}}) as origin:
        run = _go([target_of(origin.url)], Plan(rounds=2))
    assert run.asked["origin"].max_tokens == 256
    assert "nothing visible in 16 tokens" in run.notes[0]
    assert all(a.answered for a in run.attempts if a.phase == "warm")


def test_only_the_network_is_asked_with_ping():
    with ThreadedOrigin({}) as origin:
        run = _go([target_of(origin.url, key="sk-secret12345678")], Plan(rounds=3, mode="ping"))
        assert {c.method for c in origin.calls} == {"HEAD"}
        assert not any("authorization" in c.headers for c in origin.calls)
    assert [a.phase for a in run.attempts] == ["cold", "warm"] * 3
    assert all(a.ok for a in run.attempts)


def test_a_spent_budget_ends_the_run():
    with ThreadedOrigin({}) as origin:
        run = _go([target_of(origin.url)], Plan(rounds=50), prices=lambda attempt: 0.01, budget_usd=0.05)
        assert origin.count == 5
    assert "budget" in run.stopped


def test_silence_is_kept_and_the_attempt_after_it_is_apart():
    waits: list[float] = []
    with ThreadedOrigin({"ttft": "2ms"}) as origin:
        run = _go([target_of(origin.url)], Plan(rounds=3, mode="idle", idle_s=600.0), sleep=waits.append)
    assert waits == [600.0] * 3
    assert [a.phase for a in run.attempts if a.phase != "preflight"] == ["idle", "warm"] * 3


def test_the_models_of_a_target_are_listed_or_it_says_why_not():
    with ThreadedOrigin({"models": ["one", "two"]}) as origin:
        assert list_models(target_of(origin.url), _ROUTE) == ["one", "two"]
        origin.use({"fault": "401"})
        with pytest.raises(UsageError, match="refuses the credential"):
            list_models(target_of(origin.url), _ROUTE)
        origin.use({"fault": "404"})
        assert list_models(target_of(origin.url), _ROUTE) == []
    with pytest.raises(RemoteError, match="was not reached"):
        list_models(target_of(origin.url), _ROUTE)


def test_a_target_that_refuses_for_good_is_asked_once():
    with ThreadedOrigin({"fault": "401"}) as closed, ThreadedOrigin({}) as open_:
        run = _go([target_of(closed.url, name="closed"), target_of(open_.url, name="open")], Plan(rounds=8))
        assert (closed.count, open_.count) == (1, 11)
    assert "not asked again" in run.notes[0]


def test_a_parameter_that_a_server_does_not_know_is_left_out():
    known = {"when": {"contains": "max_completion_tokens"}, "fault": "400;message=unknown max_completion_tokens"}
    with ThreadedOrigin({"rules": [known]}) as origin:
        run = _go([target_of(origin.url, model="gpt-5")], Plan(rounds=2))
        assert origin.calls[-1].json["max_tokens"] == 16
    assert [a.error for a in run.attempts][:2] == ["client_error", None]


def test_a_step_of_the_wall_clock_changes_no_duration(monkeypatch):
    wall = itertools.cycle([1e9, 2e9, 0.0])
    monkeypatch.setattr("edgeinf.probe.sample.time.time", lambda: next(wall))
    with ThreadedOrigin({"ttft": "10ms"}) as origin:
        run = _go([target_of(origin.url)], Plan(rounds=4))
    assert all(9 < figures(a)["ttft_ms"] < 1000 for a in run.attempts)
