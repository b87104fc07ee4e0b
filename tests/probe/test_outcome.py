import msgspec
import pytest

from edgeinf.probe.gate import parse_slo
from edgeinf.probe.outcome import conclude, document
from edgeinf.probe.plan import Plan
from edgeinf.probe.run import Run
from edgeinf.probe.transport import Route
from tests.probe.made import attempt_of, run_of, target_of


def _outcome(attempts, *, mode: str = "both", rounds: int = 9, names=("a",), slos=()):
    targets = [target_of("http://127.0.0.1:1", name=n, key="sk-secret12345678") for n in names]
    run = Run(targets, Plan(rounds=rounds, mode=mode, idle_s=60.0), Route())
    run.attempts = attempts
    return conclude(run, slos=slos, rounds=rounds)


def test_the_document_has_what_the_contract_lists():
    got = document(_outcome(run_of([10.0] * 9), slos=[parse_slo("ttft_ms.p50 < 5")]))
    target = got["targets"][0]
    keys = {"name", "url", "ip", "family", "http_version", "proxy", "attempts", "ok", "errors", "cold", "warm"}
    assert keys <= set(target)
    assert {"dns_ms", "tcp_ms", "tls_ms", "ttfb_ms", "ttft_ms"} <= set(target["cold"])
    assert {"ttfb_ms", "ttft_ms", "ttfa_ms", "tpot_ms", "icl_ms", "output_tps", "e2e_ms"} <= set(target["warm"])
    figure = {"n", "median", "min", "max", "p90", "p95", "p99", "low", "high"}
    assert set(target["warm"]["ttft_ms"]) == figure
    assert target["warm"]["ttft_ms"]["p95"] is None
    assert {"region", "reason", "indistinguishable"} == set(got["recommendation"])
    assert {"slo", "outcome", "value", "low", "high"} <= set(got["gates"][0])
    assert {"steps", "network_ms"} <= set(got["agent_loop"])
    assert {"ranking", "definitions"} <= set(got)


def test_no_credential_is_in_the_document():
    text = msgspec.json.encode(document(_outcome(run_of([10.0] * 9)), samples=True)).decode()
    assert "sk-secret" not in text


def test_silence_costs_the_connection_the_function_and_the_model():
    made = run_of([100.0] * 9)
    slow = {"request_start": 50.0, "headers": 255.0, "first_token": 950.0, "dns": 1.0, "tcp": 40.0}
    made += [attempt_of(round=n, phase="idle", at=slow) for n in range(9)]
    cost = document(_outcome(made, mode="idle"))["targets"][0]["idle"]["cost"]
    assert cost == {"connection_lost": 9, "connection_ms": 50, "function_ms": 200, "model_ms": 600}


@pytest.mark.parametrize(
    ("attempts", "said"),
    [
        ([attempt_of(full_reads=2)], "slower side"),
        ([attempt_of(family=4), attempt_of(family=6)], "--family"),
        ([attempt_of(certificate_expires="2020-01-01T00:00:00+00:00")], "certificate expires"),
        ([attempt_of(phase="cold") for _ in range(3)], "no connection was kept"),
        ([attempt_of(error="connect", family=6)], "--family 4"),
    ],
    ids=["read buffer full", "two families", "certificate", "no keep-alive", "one family is dead"],
)
def test_what_makes_figures_doubtful_is_said(attempts, said):
    assert any(said in note for note in _outcome(attempts).notes)


def test_a_ping_is_ranked_by_the_network():
    assert _outcome(run_of([1.0] * 9), mode="ping").ranking[0].figure == "ttfb_ms"
