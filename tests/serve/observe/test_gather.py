"""What this process has at the moment."""

from __future__ import annotations

from pathlib import Path

from edgeinf.mock import MockOrigin
from edgeinf.serve.observe.gather import gather
from tests.serve.running import config_for, running


async def test_the_figures_of_the_process_are_its_own(origin: MockOrigin, tmp_path: Path) -> None:
    async with running(config_for(tmp_path, origin.url, disk=True)) as proxy:
        await proxy.ask("a")
        proxy.runtime.notices["x"] = "a word"
        view = await gather(proxy.runtime, rows=True, slots=True)
    (own,) = view.workers
    assert own.memory_bytes > 10 * 2**20
    assert own.open_files > 3
    assert own.tasks > 0
    assert own.cpu_seconds > 0
    assert own.notes == ["a word"]
    assert [tier.name for tier in own.tiers] == ["memory", "disk"]
    assert [(region.name, region.healthy, region.in_flight) for region in own.regions] == [("region", True, 0)]
    assert [row.why for row in view.rows] == ["miss: first seen"]
