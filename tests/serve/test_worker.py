"""What a worker does when its parent tells it something; the whole is tried in test_supervise."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace
from pathlib import Path

from edgeinf.core.config.schema import Cache, Config
from edgeinf.core.errors import ConfigError
from edgeinf.serve.fleet.link import connect
from edgeinf.serve.runtime import make_runtime
from edgeinf.serve.worker import _told
from tests.serve.running import config_for


async def test_a_worker_reads_the_config_anew_when_told_and_says_what_is_wrong(tmp_path: Path) -> None:
    config = config_for(tmp_path, "http://127.0.0.1:9")
    runtime = make_runtime(config)
    given: list[Config | ConfigError] = [
        replace(config, cache=Cache(disk=None, level="exact")),
        ConfigError("levle is not a name"),
    ]

    def load() -> Config:
        made = given.pop(0)
        if isinstance(made, ConfigError):
            raise made
        return made

    ours, theirs = socket.socketpair()
    worker = await connect(theirs, _told(runtime, load))
    parent = await connect(ours, {})
    assert await parent.ask("reload", None, str) == ""
    assert runtime.generation.level.name == "exact"
    assert await parent.ask("reload", None, str) == "levle is not a name"
    assert runtime.generation.level.name == "exact"
    parent.tell("refused", "levle is not a name")
    async with asyncio.timeout(10):
        while "reload" not in runtime.notices:  # noqa: ASYNC110 - a word without an answer
            await asyncio.sleep(0.01)
    assert "levle" in runtime.notices["reload"]
    parent.close()
    worker.close()
    await runtime.aclose()
