"""Single parts of the report appear when there is something to say."""

from __future__ import annotations

from pathlib import Path

from edgeinf.analyze.report_parts import change, gateways, headline, prefix_cache, risk, what_if
from edgeinf.core.report.tree import Table, Text
from tests.analyze.making import ask, run, write


def test_causes_lead_with_the_largest(tmp_path: Path) -> None:
    rows = [ask("a", at=n, system=f"Now: 2026-11-01 10:{n:02d}") for n in range(5)]
    rows += [ask("b", at=10 + n, body={"seed": n}) for n in range(3)]
    found = run(write(tmp_path / "log", rows))
    table = change(found)
    assert isinstance(table, Table)
    assert [(row[0], row[2]) for row in table.rows] == [
        ("a clock or date in the system prompt", 0.5),
        ("the value of seed", 0.25),
    ]
    assert [type(part) for part in headline(found)] == [Text, Text]


def test_nothing_to_say_is_nothing_shown(tmp_path: Path) -> None:
    found = run(write(tmp_path / "log", [ask("a", at=0), ask("b", at=1)]))
    assert (risk(found), prefix_cache(found), gateways(found)) == (None, None, None)
    assert what_if(found) is not None
