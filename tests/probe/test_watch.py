from edgeinf.core.report.markdown import to_markdown
from edgeinf.probe.watch import live_line, live_section
from tests.probe.made import run_of


def test_a_row_shows_the_state_and_the_failures():
    made = {"a": run_of([10.0, None, 30.0]), "b": []}
    text = to_markdown(live_section(made, "ttft_ms", "warm"))
    assert "| a | 2 | 30 | 10 | 10 | 30 | 33.3 | ▁×█ |" in text
    assert "| b | 0 | – |" in text


def test_the_same_in_a_line():
    assert live_line({"a": run_of([10.0, None])}, "ttft_ms", "warm") == "ttft_ms: a 10.0 ms (1 of 2)"
