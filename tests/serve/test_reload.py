"""What a changed config may change at once, and when a file counts as changed."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.config.schema import Cache, Config, Events, Listen, Region, Shared
from edgeinf.core.errors import ConfigError
from edgeinf.serve.reload import apply_config, needs_restart, read_config, watch_files
from edgeinf.serve.runtime import make_runtime
from tests.serve.running import config_for


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({}, []),
        ({"cache": Cache(disk=None, ttl=5.0)}, []),
        ({"listen": Listen(port=1)}, ["listen.port"]),
        ({"cache": Cache(disk=None, shared=Shared(url="redis://127.0.0.1/0"))}, ["cache.shared"]),
        ({"events": Events(file=None)}, ["events"]),
    ],
    ids=["nothing", "ttl", "port", "shared", "events"],
)
def test_only_what_is_set_up_once_needs_a_restart(tmp_path: Path, changes: dict[str, Any], named: list[str]) -> None:
    config = config_for(tmp_path, "http://127.0.0.1:9")
    assert needs_restart(config, replace(config, **changes)) == named


async def test_a_config_that_cannot_be_used_leaves_everything_as_it_was(tmp_path: Path) -> None:
    config = config_for(tmp_path, "http://127.0.0.1:9")
    runtime = make_runtime(config)
    before = runtime.generation
    missing = Region(name="r", url="http://127.0.0.1:9", api_key_file=tmp_path / "missing")
    why_not = apply_config(runtime, replace(config, regions=(missing,)))
    assert why_not is not None
    assert "credential" in why_not
    assert runtime.generation is before
    assert apply_config(runtime, replace(config, cache=Cache(disk=None, level="exact"))) is None
    assert runtime.generation.level.name == "exact"
    await runtime.aclose()


def refuse() -> Config:
    raise ConfigError("the key sk-abcdefghijklmnop is wrong")


def fail() -> Config:
    raise ZeroDivisionError


@pytest.mark.parametrize(("load", "said"), [(refuse, "the key *** is wrong"), (fail, "ZeroDivisionError")])
async def test_why_a_config_is_refused_is_said_without_secrets(load: Any, said: str) -> None:
    read = await read_config(load)
    assert isinstance(read, str)
    assert said in read


@pytest.mark.parametrize("how", ["written", "replaced", "relinked", "removed", "made"])
async def test_every_way_of_changing_a_file_is_noticed_once_and_when_it_has_settled(tmp_path: Path, how: str) -> None:
    path, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    other.write_text("other")
    if how == "relinked":
        (tmp_path / "c.yaml").write_text("first")
        path.symlink_to(tmp_path / "c.yaml")
    elif how != "made":
        path.write_text("first")
    seen: list[str] = []
    noticed = asyncio.Event()

    async def changed() -> None:
        seen.append(path.read_text() if path.exists() else "gone")
        noticed.set()

    task = asyncio.create_task(watch_files([path], changed))
    match how:
        case "written" | "made":
            path.write_text("half")
            await asyncio.sleep(0)
            path.write_text("other")
        case "replaced":
            other.replace(path)
        case "relinked":
            (tmp_path / "link").symlink_to(other)
            (tmp_path / "link").replace(path)
        case "removed":
            path.unlink()
    async with asyncio.timeout(15):
        await noticed.wait()
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    assert seen == ["gone" if how == "removed" else "other"]
