"""Reading scripts, and refusing what is not understood."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.errors import UsageError
from edgeinf.mock.load import load, read_document, read_fault, read_rule
from edgeinf.mock.script import Fault, Script, ToolCall


def test_everything_that_is_documented_is_read() -> None:
    script = load(
        {
            "name": "us-east",
            "ttft": "200ms",
            "tpot": 0.01,
            "headers_delay": "1s",
            "jitter": "10%",
            "seed": 3,
            "fixed_ids": True,
            "models": ["a", "b"],
            "answer": {"tokens": 3, "tool_calls": 2, "pieces": ["x"]},
            "headers": {"Set-Cookie": "a=b"},
            "fault": "cut;after=3",
            "rules": [
                {
                    "when": {"path": "/v1/*", "nth": "2-5", "rate": "5%", "headers": {"X-A": "b"}},
                    "fault": [503, "gzip"],
                },
                {"when": {"after": "5s", "until": "10s"}, "ttft": "1s", "answer": {"reasoning": 2}},
            ],
        }
    )

    assert (script.timing.ttft_s, script.timing.tpot_s, script.timing.headers_s) == (0.2, 0.01, 1.0)
    assert script.timing.jitter == 0.1
    assert script.answer.tool_calls == (ToolCall(), ToolCall())
    assert script.answer.pieces == ("x",)
    first, second, always = script.rules
    assert (first.when.nth, first.when.rate, first.when.headers) == (((2, 5),), 0.05, {"x-a": "b"})
    assert [fault.kind for fault in first.faults] == ["status", "gzip"]
    assert (second.when.after_s, second.when.until_s, second.timing) == (5.0, 10.0, {"ttft_s": 1.0})
    assert always.faults == (Fault(kind="cut", arguments={"after": 3}),)


@pytest.mark.parametrize(
    ("source", "message", "hint"),
    [
        pytest.param({"ttftt": "1s"}, "unknown name 'ttftt' in the script", "did you mean 'ttft'", id="top"),
        pytest.param({"answer": {"token": 1}}, "unknown name 'token' in answer", "'tokens'", id="answer"),
        pytest.param({"answer": {"tokens": "x"}}, "expected `int`, got `str`", "", id="type"),
        pytest.param({"answer": {"usage": "all"}}, "usage is 'all'", "last-choice", id="choice"),
        pytest.param({"rules": [{"whem": {}}]}, "unknown name 'whem' in a rule", "'when'", id="rule"),
        pytest.param({"rules": [{"when": {"nth": "x"}}]}, "nth is 'x'", '"2-5"', id="nth"),
        pytest.param({"rules": [{"when": {"rate": "120%"}}]}, "not a percentage|not a rate", "5%", id="rate"),
        pytest.param({"rules": [{"when": {"rate": 2}}]}, "not a rate from 0 to 1", "5%", id="rate-number"),
        pytest.param({"ttft": "5 parsecs"}, "not a duration", "", id="duration"),
        pytest.param({"fault": "cutt"}, "no fault 'cutt'", "did you mean 'cut'", id="fault"),
        pytest.param({"fault": {"after": 1}}, "a fault is written as", "", id="fault-form"),
        pytest.param({"packets": "tiny"}, "packets is 'tiny'", "joined, event", id="packets"),
        pytest.param([1], "the script must be a mapping, not list", "", id="list"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(source: Any, message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        load(source)
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("given", "ranges"),
    [(2, ((2, 2),)), ("2-5", ((2, 5),)), ("3-", ((3, None),)), ([1, "4-"], ((1, 1), (4, None)))],
    ids=["number", "range", "open", "list"],
)
def test_which_calls_can_be_said_in_several_ways(given: Any, ranges: Any) -> None:
    assert read_rule({"when": {"nth": given}}).when.nth == ranges


def test_ready_values_pass_through() -> None:
    script = Script(name="x")

    assert load(script) is script
    assert load(None) == Script()
    assert read_fault(Fault(kind="stall", arguments={"for_s": 2.0})).arguments == {"for_s": 2.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [("a: [", "is not YAML"), ("- a", "must be a mapping, not list"), (None, "cannot read the script")],
    ids=["syntax", "list", "absent"],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "script.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UsageError, match=message) as caught:
        read_document(path)
    assert str(path) in str(caught.value)


def test_an_empty_file_is_an_empty_script(tmp_path: Path) -> None:
    (tmp_path / "script.yaml").write_text("# nothing\n")

    assert load(read_document(tmp_path / "script.yaml")) == Script()
