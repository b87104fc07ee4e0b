"""From flags to scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgeinf.core.errors import UsageError
from edgeinf.mock.command import describe_faults, read_command
from edgeinf.mock.faults.table import FAULTS


def test_flags_hold_over_the_file_and_faults_are_added(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text("ttft: 1s\nanswer: {reasoning: 2}\nrules: [{fault: gzip}]\n")

    [(script, port)] = read_command(path, {"ttft": "5ms", "tokens": 3, "name": None}, ["cut;after=3:10%"], port=9)

    assert (script.timing.ttft_s, script.answer.tokens, script.answer.reasoning, port) == (0.005, 3, 2, 9)
    assert [rule.faults[0].kind for rule in script.rules] == ["gzip", "cut"]
    assert script.rules[1].when.rate == 0.1


@pytest.mark.parametrize(
    ("text", "kind", "rate"),
    [("429:5%", "status", 0.05), ("cut", "cut", None), ("503:0.5", "status", 0.5), ("stall;for=2s:1%", "stall", 0.01)],
    ids=["status", "always", "fraction", "arguments"],
)
def test_a_fault_on_the_command_line_has_a_kind_and_a_rate(text: str, kind: str, rate: float | None) -> None:
    [(script, _)] = read_command(None, {}, [text], port=0)

    assert (script.rules[0].faults[0].kind, script.rules[0].when.rate) == (kind, rate)


def test_a_rate_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="has no rate after the colon"):
        read_command(None, {}, ["cut:often"], port=0)


def test_every_fault_is_described() -> None:
    text = describe_faults()

    assert all(f"\n{kind}" in text for kind in FAULTS)
    assert "stall;after=1;tokens=…;at=body;for=…: say nothing more" in text
