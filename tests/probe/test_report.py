import io

from edgeinf.core.report.html import to_html
from edgeinf.core.report.terminal import write_terminal
from edgeinf.probe.figures import DEFINITIONS
from edgeinf.probe.gate import parse_slo
from edgeinf.probe.load import Load
from edgeinf.probe.outcome import conclude
from edgeinf.probe.plan import Plan
from edgeinf.probe.report import report
from edgeinf.probe.run import Run
from edgeinf.probe.transport import Route
from tests.probe.made import attempt_of, run_of, target_of

_LOAD = Load(
    target="a",
    rate=5.0,
    scheduled=10,
    sent=9,
    dropped=1,
    connections_opened=2,
    seconds=2.0,
    max_in_flight=3,
    lag_ms_p99=0.5,
    client_bound=False,
)


def _text(attempts, *, mode="both", names=("a",), slos=(), loads=(), definitions=False) -> str:
    run = Run([target_of("http://127.0.0.1:1", name=n) for n in names], Plan(rounds=9, mode=mode), Route())
    run.attempts = attempts
    section = report(conclude(run, slos=slos, loads=loads, rounds=9), definitions=definitions)
    out = io.StringIO()
    write_terminal(section, out, colour=False, width=160)
    assert to_html(section).endswith("</html>\n")
    return out.getvalue()


def test_a_quantile_without_a_bound_has_no_column():
    assert "p95" not in _text(run_of([10.0] * 9)).split("cold connections")[0]


def test_few_samples_have_a_spread_and_no_median():
    text = _text(run_of([10.0, 20.0]))
    row = next(line for line in text.splitlines() if line.strip().startswith("a "))
    assert "–" in row
    assert "20" in row


def test_gates_errors_and_advice_are_shown():
    made = [*run_of([10.0] * 9), *run_of([None] * 9, "b")]
    text = _text(made, names=("a", "b"), slos=[parse_slo("ttft_ms.p50 < 5")])
    assert "a gate failed" in text
    assert "output stopped" in text
    assert "a: lowest median" in text


def test_many_targets_take_a_row_each_and_a_page_holds_every_figure():
    names = tuple(f"t{n}" for n in range(30))
    text = _text([a for name in names for a in run_of([10.0] * 9, name)], names=names)
    assert max(text.count(f" {name} ") for name in names) < 9
    run = Run([target_of("http://127.0.0.1:1", name="a")], Plan(rounds=9), Route())
    run.attempts = run_of([10.0] * 9)
    assert "<td>e2e_ms</td>" in to_html(report(conclude(run, rounds=9), full=True))


def test_the_open_loop_shows_what_was_dropped():
    text = _text([attempt_of(open_loop=True, at={"scheduled": 0.0})], loads=[_LOAD])
    assert "dropped" in text
    assert "lag_ms" in text


def test_silence_has_its_own_table():
    made = [*run_of([10.0] * 9), *run_of([90.0] * 9, phase="idle")]
    assert "of silence" in _text(made, mode="idle")


def test_every_definition_is_printed_on_request():
    text = _text(run_of([10.0]), definitions=True)
    assert all(name in text for name in DEFINITIONS)
