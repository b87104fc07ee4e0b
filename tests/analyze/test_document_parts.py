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
