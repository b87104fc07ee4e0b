"""What a process holds, and that it lets go of all of it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.scalar import Secret
from edgeinf.core.config.schema import Cache, Config, Disk, Events, Memory, Shared
from edgeinf.serve.flight import Flight
from edgeinf.serve.runtime import make_runtime, seed_of


def config(folder: Path, **cache: object) -> Config:
    return replace(
        Config(),
        events=Events(file=folder / "events.jsonl"),
        cache=Cache(**{"disk": None, **cache}),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("cache", "near", "far"),
    [
        ({"memory": None}, False, []),
        ({"memory": Memory(max_entries=3)}, True, []),
        ({"disk": Disk(path=Path("/tmp/never-opened"))}, True, ["disk"]),
        ({"shared": Shared(url="redis://127.0.0.1:1/0")}, True, ["shared"]),
    ],
    ids=["nothing", "memory", "disk", "shared"],
)
async def test_it_has_the_tiers_that_the_config_names(
    tmp_path: Path, cache: dict[str, object], near: bool, far: list[str]
) -> None:
    runtime = make_runtime(config(tmp_path, **cache))
    assert (runtime.tiers.memory is not None) == near
    assert [tier.name for tier in runtime.tiers.far] == far
    await runtime.aclose()


async def test_the_clock_is_everybodys(tmp_path: Path) -> None:
    clock = FakeClock()
    runtime = make_runtime(config(tmp_path), clock=clock)
    assert runtime.clock is clock
    clock.advance(10)
    assert runtime.clock.now() == clock.now()
    await runtime.aclose()


async def test_when_it_ends_what_is_under_way_is_given_up_and_the_events_are_written(tmp_path: Path) -> None:
    runtime = make_runtime(config(tmp_path))
    flight = Flight()
    flight.task = asyncio.ensure_future(asyncio.sleep(600))
    runtime.flights[b"find"] = flight
    await runtime.aclose()
    with pytest.raises(asyncio.CancelledError):
        await flight.task


def test_keys_are_seeded_per_installation_and_per_fleet(tmp_path: Path) -> None:
    one, two = config(tmp_path / "one"), config(tmp_path / "two")
    assert seed_of(one, b"a" * 32) == seed_of(two, b"a" * 32) != seed_of(one, b"b" * 32)
    shared = replace(one, cache=replace(one.cache, shared=Shared(url="redis://127.0.0.1:1/0")))
    assert seed_of(shared, b"a" * 32) == seed_of(shared, b"b" * 32) == 0
    named = replace(shared, events=replace(shared.events, key_secret=Secret("of the fleet")))
    assert seed_of(named, b"a" * 32) != 0


async def test_a_secret_that_is_given_is_used(tmp_path: Path) -> None:
    runtime = make_runtime(config(tmp_path), secret=b"s" * 32)
    assert runtime.secret == b"s" * 32
    assert not (tmp_path / "key_secret").exists()
    await runtime.aclose()
