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


def long_prompts(path: Path, clock: bool) -> Path:
    rules = " ".join(f"Rule {chr(97 + n % 26)}{chr(97 + n // 26)} holds for every order." for n in range(80))
    times = [f"It is now 10:{n:02d}. " if clock else "" for n in range(20)]
    return write(path, [ask(f"Q {n}?", at=n, system=f"You help. {times[n]}{rules}") for n in range(20)])


def test_the_prefix_cache_names_the_first_difference(tmp_path: Path) -> None:
    section = prefix_cache(run(long_prompts(tmp_path / "log", clock=True)))
    assert section is not None
    *_, lead, table = section.parts
    assert isinstance(lead, Text)
    assert isinstance(table, Table)
    where = "messages[0].content, characters 20-25"
    assert lead.text.startswith(
        f"95.0% of prompts (You help. It is now) part first at {where}, a clock or date in the system prompt: "
        "move it to the end, or round it. About "
    )
    assert table.rows[0][:5] == (
        "You help. It is now",
        where,
        "a clock or date in the system prompt",
        "move it to the end, or round it",
        0.95,
    )


def test_prompts_that_share_all_they_can_are_said_to(tmp_path: Path) -> None:
    section = prefix_cache(run(long_prompts(tmp_path / "log", clock=False)))
    assert section is not None
    last = section.parts[-1]
    assert isinstance(last, Text)
    assert (last.tone, "all 20 long prompts" in last.text) == ("good", True)
