"""The report of a running server, from its JSON alone."""

from __future__ import annotations

import io
from pathlib import Path

from edgeinf.core.report.terminal import write_terminal
from edgeinf.mock import MockOrigin
from edgeinf.serve.observe.top import line_of, report_of
from tests.serve.running import config_for, running


async def test_the_report_shows_figures_notes_and_reasons(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url)) as proxy:
        proxy.runtime.notices["x"] = "something an operator should know"
        for _ in range(2):
            await proxy.ask("a")
        stats = (await proxy.client.get("/_edgeinf/api/stats")).json()
        events = (await proxy.client.get("/_edgeinf/api/events")).json()["events"]
    out = io.StringIO()
    write_terminal(report_of(stats, events), out, colour=False)
    text = out.getvalue()
    for word in ("something an operator should know", "miss: first seen", "hit: memory", "region", "in use", "50"):
        assert word in text
    assert line_of(stats).startswith("2 requests, ")
    assert "50.0% hits" in line_of(stats)


def test_a_server_without_requests_has_no_hit_rate() -> None:
    totals = {"requests": 0, "hit_rate": None, "usd_saved": 0.0, "seconds_saved": 0.0, "errors": 0}
    assert "– hits" in line_of({"totals": totals, "window": {"requests_per_s": 0.0}})
