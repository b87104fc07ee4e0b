import random
from pathlib import Path

import msgspec
import pytest

from edgeinf.core.errors import UsageError
from edgeinf.core.report.markdown import to_markdown
from edgeinf.probe.diff import check_shared, compare, diff_report, is_worse, read_saved, to_document
from tests.probe.made import attempt_of, run_of


def _run(middle: float, seed: int, lost: int = 0, n: int = 60):
    rng = random.Random(seed)
    return run_of([None if i < lost else middle * (1 + 0.05 * rng.gauss(0, 1)) for i in range(n)])


def test_a_slower_run_is_worse_and_a_faster_one_is_not():
    assert {c.figure for c in compare(_run(100, 1), _run(120, 2)) if is_worse(c)} == {"ttft_ms", "e2e_ms"}
    assert not any(is_worse(c) for c in compare(_run(100, 1), _run(80, 2)))


def test_equal_runs_show_no_change_in_nineteen_of_twenty():
    changed = sum(any(c.changed for c in compare(_run(100, n), _run(100, n + 500), seed=n)) for n in range(40))
    assert changed <= 5


def test_more_failures_are_worse():
    changes = compare(_run(100, 1), _run(100, 1, lost=30))
    success = next(c for c in changes if c.figure == "success_rate")
    assert is_worse(success)
    assert success.high < 0


def test_a_target_that_is_refused_at_the_first_check_is_worse():
    changes = compare(_run(100, 1), [attempt_of(phase="preflight", round=-1, error="auth")])
    assert [c.figure for c in changes if is_worse(c)] == ["success_rate"]


def test_runs_without_a_common_target_are_not_compared():
    check_shared(_run(1, 1), ["a", "b"], "run.json")
    with pytest.raises(UsageError, match=r"run\.json holds a, not b"):
        check_shared(_run(1, 1), ["b"], "run.json")


def test_targets_of_one_run_only_are_left_out():
    assert compare(_run(1, 1), run_of([1.0] * 9, "other")) == []


def test_a_saved_run_is_read_back(tmp_path: Path):
    file = tmp_path / "run.json"
    document = {"schema_version": 1, "at": "then", "samples": msgspec.to_builtins(_run(10, 1)), "more": 1}
    file.write_bytes(msgspec.json.encode(document))
    assert [a.instants.first_token for a in read_saved(file).samples] == [a.instants.first_token for a in _run(10, 1)]


@pytest.mark.parametrize("text", ["{}", "no", '{"schema_version": 1, "at": "x"}'])
def test_what_is_no_saved_run_is_wrong_usage(text, tmp_path: Path):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(UsageError, match="not a saved run"):
        read_saved(tmp_path / "x.json")
    with pytest.raises(UsageError, match="cannot read"):
        read_saved(tmp_path / "absent.json")


def test_the_report_says_what_got_worse():
    changes = compare(_run(100, 1), _run(120, 2))
    assert "❌ worse: a ttft_ms" in to_markdown(diff_report(changes, "then", "now"))
    assert to_document(changes, "then", "now")["changes"][0]["target"] == "a"
