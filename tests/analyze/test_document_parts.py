"""Parts of the document name what they assume and what they could not do."""

from __future__ import annotations

from pathlib import Path

from edgeinf.analyze.document_parts import assumed, misses, prefix, risk, what_if
from edgeinf.core.config.schema import Price
from tests.analyze.making import ask, run, write


def test_prices_and_missing_eviction_are_said(tmp_path: Path) -> None:
    rows = [ask(at=n, model="own", input_tokens=5, output_tokens=5) for n in range(2)]
    found = assumed(run(write(tmp_path / "log", rows), prices={"own": Price(input=1.0, output=1.0)}))
    assert any("costs of 2 requests come from the prices" in line for line in found)
    assert any("nothing is evicted" in line for line in found)


def test_reasons_are_left_for_what_is_null(tmp_path: Path) -> None:
    analysis = run(write(tmp_path / "log", [ask(at=0), ask(at=1)]))
    absent: dict[str, str] = {}
    assert risk(analysis, "loose", absent) is None
    assert prefix(analysis, absent) is None
    assert what_if(analysis, absent) is not None
    assert misses(analysis, absent) == []
    assert absent["levels.loose.risk"] == "no answers in the log"
    assert "prefix" in absent
    assert absent["whatif.before.p50_ms"] == "no latencies in the log"
    assert absent["whatif.agent_loop.network_share"] == "no --probe file"


def test_the_place_where_prompts_part_is_a_half_open_range(tmp_path: Path) -> None:
    rules = " ".join(f"Rule {chr(97 + n % 26)}{chr(97 + n // 26)} holds for every order." for n in range(80))
    rows = [ask(f"Q {n}?", at=n, system=f"You help. It is now 10:{n:02d}. {rules}") for n in range(20)]
    absent: dict[str, str] = {}
    found = prefix(run(write(tmp_path / "log", rows)), absent)
    assert found is not None
    place = found["breaks"]["places"][0]
    assert (place["where"], place["start"], place["end"]) == ("$.messages[0].content", 20, 26)
    assert rows[0]["request"]["messages"][0]["content"][place["start"] : place["end"]] == "10:00."
    assert place["recoverable_tokens"] == found["breaks"]["recoverable_tokens"]
    assert "prefix.breaks" not in absent


def test_a_trace_without_text_says_why_it_names_no_place(tmp_path: Path) -> None:
    line = b'{"timestamp": %d, "input_length": 2048, "output_length": 1, "hash_ids": [0, 1, 2, %d]}\n'
    absent: dict[str, str] = {}
    found = prefix(run(write(tmp_path / "log", [line % (n, 9 + n) for n in range(5)])), absent)
    assert found is not None
    assert found["breaks"] is None
    assert absent["prefix.breaks"] == "no prompts in the log"
