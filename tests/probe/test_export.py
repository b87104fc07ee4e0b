import csv
import io
import re

import msgspec

from edgeinf.probe.export import sample, to_csv, to_jsonl, to_prometheus
from edgeinf.probe.gate import parse_slo
from edgeinf.probe.outcome import conclude
from edgeinf.probe.plan import Plan
from edgeinf.probe.run import Run
from edgeinf.probe.transport import Route
from tests.probe.made import attempt_of, run_of, target_of


def _outcome(attempts, slos=()):
    run = Run([target_of("http://127.0.0.1:1", name='a"b')], Plan(rounds=9), Route())
    for attempt in attempts:
        attempt.target = 'a"b'
    run.attempts = attempts
    return conclude(run, slos=slos, rounds=9)


def test_a_sample_has_its_instants_and_what_follows_from_them():
    told = sample(attempt_of(at={"tokens": [10.0, 12.0]}))
    assert told["instants"]["first_token"] == 10
    assert told["figures"]["ttft_ms"] == 10
    assert told["icl_ms"] == [2.0]


def test_a_failed_sample_has_instants_and_no_figures():
    assert sample(attempt_of(error="stall"))["figures"] == {}


def test_every_attempt_is_one_line():
    lines = list(to_jsonl(_outcome(run_of([1.0, None, 2.0]))))
    assert [msgspec.json.decode(line)["error"] for line in lines] == [None, "stall", None]


def test_a_row_per_figure_and_per_error():
    rows = list(csv.DictReader(io.StringIO(to_csv(_outcome(run_of([10.0] * 9 + [None]))))))
    found = {(r["phase"], r["figure"]): r for r in rows}
    assert found["warm", "ttft_ms"]["median"] == "10.0"
    assert found["", "error.stall"]["n"] == "1"
    assert found["warm", "ttft_ms"]["p95"] == ""


def test_the_textfile_is_one_that_prometheus_reads():
    made = [*run_of([10.0] * 9 + [None]), attempt_of(phase="cold", certificate_expires="2030-01-01T00:00:00+00:00")]
    text = to_prometheus(_outcome(made, [parse_slo("ttft_ms.p50 < 50")]))
    line = re.compile(r'# TYPE [a-z0-9_]+ gauge|[a-z0-9_]+(?:\{(?:[a-z]+="(?:[^"\\]|\\.)*",?)+\})? [-+.e\d]+')
    assert all(line.fullmatch(row) for row in text.splitlines())
    assert 'edgeinf_probe_ttft_seconds{target="a\\"b",phase="warm",quantile="0.5"} 0.01' in text
    assert "edgeinf_probe_errors" in text
    assert 'certificate_expiry_timestamp_seconds{target="a\\"b"} 1893456000' in text
    types = [row for row in text.splitlines() if row.startswith("# TYPE")]
    assert len(types) == len(set(types))
