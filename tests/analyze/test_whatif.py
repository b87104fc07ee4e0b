"""The arithmetic of before and after, on logs small enough to do it by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from edgeinf.analyze.whatif import HIT_MS, WhatIf, read_probe
from edgeinf.core.errors import UsageError
from tests.analyze.making import ask, run, write


def _whatif(path: Path, **options: object) -> WhatIf:
    found = run(path, **options).whatif
    assert found is not None
    return found


def test_the_median_after_is_the_quantile_of_the_misses_that_the_identity_names(tmp_path: Path) -> None:
    # 60 first questions with latencies 100, 110, … 690 ms, then 40 repeats: h = 0.4, quantile (0.5 - 0.4) / 0.6 = 1/6.
    rows = [ask(f"q {n}", at=10 * n, latency_ms=100 + 10 * n) for n in range(60)]
    rows += [ask(f"q {n}", at=1000 + 10 * n, latency_ms=400) for n in range(40)]
    found = _whatif(write(tmp_path / "log", rows))
    assert found.after.p50_ms == 100 + 10 * 9 + 1  # the tenth of sixty misses, and what the layer adds
    assert found.identity is not None
    assert "(0.5 - 0.400) / (1 - 0.400) = 0.167: 191 ms" in found.identity
    assert (found.before.origin_requests, found.after.origin_requests) == (100, 60)


def test_the_identity_names_the_median_of_the_table_where_requests_wait_for_one_another(tmp_path: Path) -> None:
    rows = [ask(f"q {n}", at=10 * n + k / 10, latency_ms=300 + 20 * n) for n in range(10) for k in range(3)]
    rows += [ask(f"q {n}", at=1000 + n, latency_ms=400) for n in range(6)]
    found = _whatif(write(tmp_path / "log", rows))
    assert found.identity is not None
    assert f"{found.after.p50_ms:.0f} ms;" in found.identity


def test_from_half_on_the_median_is_a_hit(tmp_path: Path) -> None:
    rows = [ask("q", at=10 * n, latency_ms=400) for n in range(10)]
    found = _whatif(write(tmp_path / "log", rows))
    assert (found.before.p50_ms, found.after.p50_ms) == (400, HIT_MS)


def test_peak_concurrency_counts_what_runs_at_once(tmp_path: Path) -> None:
    rows = [ask(f"q {n}", at=n, latency_ms=2500) for n in range(5)] + [ask("q 0", at=9, latency_ms=2500)]
    found = _whatif(write(tmp_path / "log", rows))
    assert (found.before.peak_concurrency, found.after.peak_concurrency) == (3, 3)


def test_what_runs_into_one_another_is_one_request_at_the_origin(tmp_path: Path) -> None:
    rows = [ask("q", at=0.1 * n, latency_ms=2500) for n in range(5)]
    analysis = run(write(tmp_path / "log", rows))
    default = analysis.default
    assert default is not None
    assert analysis.whatif is not None
    assert (default.hits, int(default.coalesced.sum())) == (0, 4)
    assert (analysis.whatif.after.origin_requests, analysis.whatif.after.peak_concurrency) == (1, 1)


def test_the_monthly_cost_follows_requests_a_month(tmp_path: Path) -> None:
    rows = [ask("q", at=n, cost_usd=0.01) for n in range(4)]
    found = _whatif(write(tmp_path / "log", rows), requests_per_month=1000.0)
    assert (found.before.usd_month, found.after.usd_month) == (pytest.approx(10), pytest.approx(2.5))


def test_a_nearer_region_takes_its_difference_off_every_miss(tmp_path: Path) -> None:
    def target(name: str, ms: float) -> dict[str, object]:
        return {"name": name, "warm": {"ttfb_ms": {"median": ms}}}

    probe = tmp_path / "probe.json"
    probe.write_text(
        json.dumps({"targets": [target("far", 180), target("near", 30)], "recommendation": {"region": "near"}})
    )
    rows = [ask(f"q {n}", at=10 * n, latency_ms=500, session="s") for n in range(4)]
    found = _whatif(write(tmp_path / "log", rows), probe=str(probe))
    assert found.after.p50_ms == 500 - 150 + 1
    assert (found.agent_loop.steps, found.agent_loop.network_ms, found.agent_loop.network_share) == (4, 600, 0.3)
    assert any("150 ms less" in line for line in found.assumptions)


@pytest.mark.parametrize("text", ["nonsense", "{}", '{"targets": [{"name": "x", "warm": {}}]}'])
def test_a_file_that_is_no_probe_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "probe.json").write_text(text)
    with pytest.raises(UsageError, match=r"probe\.json"):
        read_probe(str(tmp_path / "probe.json"))
