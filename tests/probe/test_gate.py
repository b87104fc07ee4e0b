import contextlib
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.errors import UsageError
from edgeinf.probe.figures import DEFINITIONS
from edgeinf.probe.gate import check_targets, evaluate, parse_slo, rounds_needed, samples_of, verdict_of
from edgeinf.probe.plan import Plan
from tests.probe.made import attempt_of, run_of


def _judge(text, values, **given):
    return evaluate([parse_slo(text)], {"a": run_of(values)}, given.get("phase", "warm"))


def _outcomes(text, values):
    return [g.outcome for g in _judge(text, values) if not g.implicit]


@pytest.mark.parametrize(
    ("text", "figure", "p", "limit"),
    [
        ("ttft_ms.p95 < 800", "ttft_ms", 0.95, 800),
        ("ttft_ms.p50<0.4s", "ttft_ms", 0.5, 400),
        ("ttft_ms.median <= 400ms", "ttft_ms", 0.5, 400),
        ("success_rate >= 99%", "success_rate", None, 0.99),
        ("cold.tls_ms.p90 < 80", "tls_ms", 0.9, 80),
        ("output_tps.p50 > 30", "output_tps", 0.5, 30),
    ],
)
def test_gates_are_read_as_written(text, figure, p, limit):
    slo = parse_slo(text)
    assert (slo.figure, slo.p, slo.limit) == (figure, p, limit)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ttft < 5", "there is no figure 'ttft'"),
        ("ttft_ms < 5", "names no quantile"),
        ("ttft_ms.p95", "is not a gate"),
        ("ttft_ms.p0 < 5", "not a quantile"),
        ("ttft_ms.p95 < 5%", "does not fit"),
        ("success_rate < 5%", "not a gate on the success rate"),
        ("success_rate >= 101%", "from 0% to 100%"),
    ],
)
def test_a_wrong_gate_says_which_part(text, said):
    with pytest.raises(UsageError, match=said):
        parse_slo(text)


@pytest.mark.parametrize(
    ("text", "rounds"),
    [("ttft_ms.p95 < 1", 59), ("ttft_ms.p50 < 1", 5), ("ttft_ms.p99 < 1", 299), ("success_rate >= 99%", 299)],
)
def test_a_gate_knows_how_many_rounds_it_needs(text, rounds):
    assert rounds_needed(parse_slo(text), Plan()) == samples_of(parse_slo(text)) == rounds


@pytest.mark.parametrize(
    ("text", "mode", "rounds"),
    [("tcp_ms.p50 < 1", "both", 17), ("cold.ttft_ms.p95 < 1", "both", 233), ("tcp_ms.p50 < 1", "cold", 5)],
    ids=["a connection's figure", "cold ones", "each round is cold"],
)
def test_a_gate_on_new_connections_counts_the_rounds_that_open_one(text, mode, rounds):
    assert rounds_needed(parse_slo(text), Plan(mode=mode)) == rounds


def test_a_gate_for_a_target_that_is_not_measured_is_wrong_usage():
    check_targets([parse_slo("ttft_ms.p50 < 5"), parse_slo("near:ttft_ms.p50 < 5")], ["near", "far"])
    with pytest.raises(UsageError, match="there is no target 'naer'") as caught:
        check_targets([parse_slo("naer:ttft_ms.p50 < 5")], ["near", "far"])
    assert caught.value.hint == "did you mean 'near'?"


def test_a_target_without_a_name_is_named_by_its_host_and_port():
    slo = parse_slo("127.0.0.1:8787:cold.ttft_ms.p50 < 5")
    assert (slo.target, slo.phase, slo.figure) == ("127.0.0.1:8787", "cold", "ttft_ms")


def test_a_gate_shows_no_quantile_that_its_samples_cannot_bound():
    assert [g.value for g in _judge("ttft_ms.p95 < 800", [1.0] * 58)] == [None]
    assert [g.value for g in _judge("ttft_ms.p95 < 800", [1.0] * 59)] == [1.0]


def test_a_gate_on_an_open_loop_is_not_judged_by_a_closed_one():
    assert _outcomes("load.ttft_ms.p50 < 800", [1.0] * 9) == ["inconclusive"]


def test_nine_samples_cannot_decide_a_p95_whatever_they_are():
    assert _outcomes("ttft_ms.p95 < 800", [1.0] * 58) == ["inconclusive"]
    assert _outcomes("ttft_ms.p95 < 800", [1.0] * 59) == ["pass"]


def test_far_over_the_limit_fails_early():
    assert _outcomes("ttft_ms.p95 < 800", [900.0] * 20) == ["fail"]


def test_a_limit_on_speed_is_judged_the_other_way_round():
    fast = [attempt_of(round=n, at={"tokens": [10.0, 11.0, 12.0, 20.0]}, output_tokens=11) for n in range(8)]
    gates = evaluate([parse_slo("output_tps.p50 > 100"), parse_slo("output_tps.p50 > 5000")], {"a": fast}, "warm")
    assert [g.outcome for g in gates] == ["pass", "fail"]


@pytest.mark.parametrize("share", [0.97, 1.03], ids=["truly met", "truly missed"])
def test_in_a_thousand_runs_at_most_one_in_twenty_is_wrong(share):
    slo = parse_slo(f"ttft_ms.p90 < {100 * share * math.log(10):.6f}")
    met = share > 1
    rng = random.Random(11)
    wrong = right = 0
    for _ in range(1000):
        made = {"a": run_of([100 * rng.expovariate(1) for _ in range(60)])}
        outcome = evaluate([slo], made, "warm")[0].outcome
        wrong += outcome == ("fail" if met else "pass")
        right += outcome == ("pass" if met else "fail")
    assert wrong <= 50
    assert wrong + right < 1000, "so near the limit most runs cannot tell"


@pytest.mark.parametrize(("scale", "outcome"), [(0.4, "pass"), (2.0, "fail")])
def test_in_a_thousand_runs_far_from_the_limit_nearly_all_are_decided_rightly(scale, outcome):
    slo = parse_slo(f"ttft_ms.p90 < {100 * math.log(10):.6f}")
    rng = random.Random(12)
    decided = 0
    for _ in range(1000):
        made = {"a": run_of([scale * 100 * rng.expovariate(1) for _ in range(100)])}
        decided += evaluate([slo], made, "warm")[0].outcome == outcome
    assert decided >= 950


@pytest.mark.parametrize(
    ("rate", "outcome"), [(0.985, "pass"), (0.995, "fail")], ids=["truly under 99 %", "truly over 99 %"]
)
def test_in_a_thousand_runs_the_success_rate_is_wrong_in_at_most_one_in_twenty(rate, outcome):
    slo = parse_slo("success_rate >= 99%")
    good, bad = attempt_of(), attempt_of(error="stall")
    rng = random.Random(13)
    wrong = 0
    for _ in range(1000):
        made = {"a": [good if rng.random() < rate else bad for _ in range(300)]}
        wrong += evaluate([slo], made, "warm")[0].outcome == outcome
    assert wrong <= 50


def test_fifteen_failures_of_twenty_never_pass():
    gates = _judge("ttft_ms.p50 < 800", [10.0] * 5 + [None] * 15)
    assert [(g.outcome, g.implicit) for g in gates] == [("pass", False), ("fail", True)]
    assert verdict_of(gates, strict=False) == 1


def test_one_failure_of_twenty_is_inconclusive_and_none_says_nothing():
    assert [g.outcome for g in _judge("ttft_ms.p50 < 800", [10.0] * 19 + [None])] == ["pass", "inconclusive"]
    assert [g.outcome for g in _judge("ttft_ms.p50 < 800", [10.0] * 20)] == ["pass"]


def test_an_own_success_gate_replaces_the_implied_one():
    slos = [parse_slo("ttft_ms.p50 < 800"), parse_slo("success_rate >= 20%")]
    gates = evaluate(slos, {"a": run_of([10.0] * 15 + [None] * 15)}, "warm")
    assert [(g.outcome, g.implicit) for g in gates] == [("pass", False), ("pass", False)]


def test_a_gate_may_name_its_target():
    gates = evaluate([parse_slo("b:ttft_ms.p50 < 5")], {"a": run_of([1.0] * 9), "b": run_of([9.0] * 9)}, "warm")
    assert [(g.target, g.outcome) for g in gates] == [("b", "fail")]


def test_without_any_sample_nothing_is_decided():
    gates = evaluate([parse_slo("ttft_ms.p50 < 5")], {"a": []}, "warm")
    assert {g.outcome for g in gates} == {"inconclusive"}


@pytest.mark.parametrize(
    ("values", "strict", "code"),
    [([1.0] * 9, False, 0), ([9.0] * 9, False, 1), ([1.0] * 3, False, 4), ([1.0] * 3, True, 1)],
    ids=["pass", "fail", "inconclusive", "inconclusive and strict"],
)
def test_the_exit_code_follows_the_worst_gate(values, strict, code):
    assert verdict_of(_judge("ttft_ms.p50 < 5", values), strict=strict) == code


@given(st.text(max_size=40) | st.from_regex(r"[a-z_]+\.p\d+ ?[<>]=? ?\d+(ms|s|%)?", fullmatch=True))
def test_whatever_is_written_is_a_gate_or_wrong_usage(text):
    with contextlib.suppress(UsageError):
        assert parse_slo(text).figure in DEFINITIONS
