from pathlib import Path

import pytest

from edgeinf.cli.probe_write import Wanted, print_definitions, write, write_diff
from edgeinf.core.errors import RemoteError, UsageError
from edgeinf.probe.outcome import Outcome, conclude
from edgeinf.probe.plan import Plan
from edgeinf.probe.run import Run
from edgeinf.probe.transport import Route
from tests.probe.made import run_of, target_of


def _outcome(values: list[float | None]) -> Outcome:
    run = Run([target_of("http://127.0.0.1:1", name="a")], Plan(rounds=9), Route())
    run.attempts = run_of(values)
    return conclude(run, rounds=9)


def _wanted(**given: object) -> Wanted:
    nothing = {"html": None, "save": None, "baseline": None, "best": False, "emit": False}
    return Wanted(**{"form": "text", "explain": False, "strict": False, **nothing, **given})


def test_the_best_is_all_that_is_printed(capsys):
    assert write(_outcome([10.0] * 9), _wanted(best=True)) == 0
    assert capsys.readouterr().out == "a\n"


@pytest.mark.parametrize("form", ["json", "jsonl", "csv", "prometheus", "text"])
def test_each_form_writes_something_even_when_nothing_answered(form, capsys):
    with pytest.raises(RemoteError, match="no target answered"):
        write(_outcome([None] * 3), _wanted(form=form))
    assert "stall" in capsys.readouterr().out


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match="cannot write"):
        write(_outcome([10.0] * 9), _wanted(html=tmp_path / "absent" / "x.html"))


def test_a_comparison_needs_two_runs():
    with pytest.raises(UsageError, match="compares two"):
        write_diff(["one.json"], "text")
    with pytest.raises(UsageError, match="diff writes text"):
        write_diff(["one.json", "two.json"], "csv")


def test_definitions_are_printed_alone(capsys):
    assert print_definitions("text") == 0
    assert "tpot_ms" in capsys.readouterr().out
