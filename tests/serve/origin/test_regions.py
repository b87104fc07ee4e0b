"""The choice over time, in a simulated world; and room, on a real loop."""

from __future__ import annotations

import asyncio

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Health, Region, Routing
from edgeinf.serve.origin.model_map import Target
from edgeinf.serve.origin.region import make_origin
from edgeinf.serve.origin.regions import Ask, Full, Picked, Refused, Regions
from tests.serve.origin.world import Behaviour, World


def steady(seconds: float) -> Behaviour:
    return lambda now, in_flight: seconds


def queueing(seconds: float, capacity: int) -> Behaviour:
    """As fast as it is up to so many at once, then in proportion slower."""
    return lambda now, in_flight: seconds * max(1.0, in_flight / capacity)


def down_between(start_s: float, end_s: float, behaviour: Behaviour) -> Behaviour:
    return lambda now, in_flight: None if start_s <= now < end_s else behaviour(now, in_flight)


def slow_between(start_s: float, end_s: float, factor: float, behaviour: Behaviour) -> Behaviour:
    def at(now: float, in_flight: int) -> float | None:
        takes = behaviour(now, in_flight)
        return takes * factor if takes is not None and start_s <= now < end_s else takes

    return at


THREE = {"near": steady(0.05), "mid": steady(0.15), "far": steady(0.3)}


@pytest.mark.parametrize("seed", range(5))
def test_latency_converges_to_the_nearest_within_seconds(seed: int):
    world = World(dict(THREE), seed=seed)
    world.run(60, per_s=50)
    assert world.share("near", 5, 60) > 0.95


@pytest.mark.parametrize("seed", range(5))
def test_no_region_is_starved_of_measurements(seed: int):
    world = World(dict(THREE), seed=seed)
    world.run(120, per_s=20)
    assert all(world.share(name, 20, 120) > 0.003 for name in THREE)


@pytest.mark.parametrize("seed", range(5))
def test_calls_leave_a_region_that_slows_and_come_back_when_it_recovers(seed: int):
    world = World({**THREE, "near": slow_between(30, 60, 20, steady(0.05))}, seed=seed)
    world.run(150, per_s=50)
    assert world.share("near", 35, 60) < 0.1
    assert world.share("mid", 35, 60) > 0.85
    assert world.share("near", 110, 150) > 0.9


@pytest.mark.parametrize("seed", range(5))
def test_one_failure_in_a_hundred_does_not_drive_calls_far_away(seed: int):
    count = iter(range(10**9))
    flaky: Behaviour = lambda now, in_flight: None if next(count) % 100 == 99 else 0.05  # noqa: E731
    world = World({**THREE, "near": flaky}, seed=seed)
    world.run(120, per_s=50)
    assert world.share("near", 10, 120) > 0.85


@pytest.mark.parametrize("strategy", ["latency", "priority", "least-loaded", "weighted", "nearest"])
@pytest.mark.parametrize("seed", range(3))
def test_a_dead_region_gets_one_trial_per_cooldown_and_is_back_within_two(strategy: str, seed: int):
    routing = Routing(strategy=strategy, health=Health(cooldown=5.0))  # type: ignore[arg-type]
    world = World({"near": down_between(20, 60, steady(0.05)), "far": steady(0.2)}, routing, seed=seed)
    world.run(100, per_s=50)
    trials = sum(world.sent[second]["near"] for second in range(22, 60))
    assert trials <= 8 + 1
    assert sum(world.sent[second]["near"] for second in range(60, 70)) >= 1
    assert world.share("near", 85, 100) > 0.3


@pytest.mark.parametrize("strategy", ["latency", "priority", "nearest", "least-loaded"])
def test_a_region_that_comes_back_is_not_run_over(strategy: str):
    routing = Routing(strategy=strategy, health=Health(cooldown=5.0))  # type: ignore[arg-type]
    world = World({"near": down_between(20, 60, steady(0.05)), "far": steady(0.06)}, routing)
    world.run(100, per_s=200)
    back = next(second for second in range(60, 100) if world.sent[second]["near"] > 1)
    first, later = world.share("near", back, back + 1), world.share("near", back + 8, back + 9)
    assert first < 0.35
    assert first < later or strategy == "least-loaded"


@pytest.mark.parametrize("seed", range(5))
def test_load_spreads_before_a_region_queues_for_long(seed: int):
    # 100 calls per second of half a second each are fifty at once; the near region serves thirty without a queue.
    world = World({"near": queueing(0.5, 30), "far": queueing(0.7, 1000)}, seed=seed)
    world.run(120, per_s=100)
    assert 0.3 < world.share("near", 20, 120) < 0.9


@pytest.mark.parametrize("failures", [1, 2, 3, 4])
def test_a_region_that_failed_too_little_to_be_left_out_is_back_within_two_cooldowns(failures: int):
    left = [failures]

    def near(now: float, in_flight: int) -> float | None:
        if now < 10 or not left[0]:
            return 0.03
        left[0] -= 1
        return None

    world = World({"near": near, "far": steady(0.08)}, Routing(health=Health(cooldown=2.0)))
    world.run(10, per_s=20)
    world.run(30, per_s=20)
    assert left == [0]
    assert sum(world.sent[second]["near"] for second in range(11, 16)) >= 1
    assert world.share("near", 18, 30) > 0.9


def test_with_all_open_the_least_bad_takes_all_traffic():
    count = iter(range(10**9))
    half: Behaviour = lambda now, in_flight: None if next(count) % 2 else 0.1  # noqa: E731
    world = World({"dead": down_between(0, 1e9, steady(0.1)), "half": half})
    world.run(60, per_s=50)
    assert world.refused == 0
    assert world.share("half", 20, 60) > 0.9


def targets(*names: str, limit: int | None = None) -> list[Target]:
    made = [make_origin(Region(name=name, url=f"http://{name}", max_concurrency=limit)) for name in names]
    return [Target(origin=origin, model="m", sent="m") for origin in made]


ASK = Ask(stream=True, routing=Routing(strategy="priority"))


def test_with_all_resting_the_soonest_is_named_and_its_status():
    clock = FakeClock()
    regions, two = Regions(clock), targets("a", "b")
    now = clock.monotonic()
    regions.state(two[0].origin).health.rest(now, "m", "", 429, 30.0)
    regions.state(two[1].origin).health.rest(now, "m", "", 503, 12.0)
    picked = regions.pick(two, ASK)
    assert isinstance(picked, Refused)
    assert (picked.status, picked.after_s) == (503, 12.0)
    clock.advance(12)
    after = regions.pick(two, ASK)
    assert isinstance(after, Picked)
    assert after.target.origin.name == "b"


def test_one_that_rests_does_not_hide_one_that_is_merely_broken():
    clock = FakeClock()
    regions, two = Regions(clock), targets("rests", "broken")
    regions.state(two[0].origin).health.rest(clock.monotonic(), "m", "", 429, 30.0)
    for _ in range(9):
        regions.state(two[1].origin).health.fail(clock.monotonic())
    picked = regions.pick(two, ASK)
    assert isinstance(picked, Picked)
    assert picked.target.origin.name == "broken"


async def test_places_are_handed_over_in_the_order_of_asking():
    regions, two = Regions(FakeClock()), targets("a", "b", limit=1)
    for target in two:
        regions.enter(target)
    assert isinstance(regions.pick(two, ASK), Full)
    order: list[str] = []

    async def wait(name: str, among: list[Target]) -> None:
        got = await regions.wait(among, 5)
        assert got is not None
        order.append(f"{name} {got.origin.name}")

    async with asyncio.TaskGroup() as group:
        for name, among in (("first", two), ("second", two[:1]), ("third", two)):
            group.create_task(wait(name, among))
            await asyncio.sleep(0)
        regions.leave(two[1])
        assert isinstance(regions.pick(two, ASK), Full)  # nobody overtakes who waits
        await asyncio.sleep(0)
        regions.leave(two[1])
        regions.leave(two[0])
    assert order == ["first b", "third b", "second a"]


async def test_a_waiter_that_gives_up_loses_no_place():
    regions, one = Regions(FakeClock()), targets("a", limit=1)
    regions.enter(one[0])
    assert await regions.wait(one, 0.01) is None
    task = asyncio.ensure_future(regions.wait(one, 5))
    await asyncio.sleep(0)
    regions.leave(one[0])  # handed over, and given up in the same turn
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert isinstance(regions.pick(one, ASK), Picked)


def test_what_the_config_no_longer_has_is_forgotten():
    regions, two = Regions(FakeClock()), targets("a", "b")
    kept = regions.state(two[0].origin)
    regions.state(two[1].origin).calls = 7
    regions.keep([two[0].origin])
    assert regions.state(two[0].origin) is kept
    assert regions.state(two[1].origin).calls == 0


def test_a_report_names_every_region():
    world = World(dict(THREE))
    world.run(10, per_s=20)
    report = world.regions.report([target.origin for target in world.targets])
    assert [r.name for r in report] == ["near", "mid", "far"]
    assert report[0].ttft_ms == pytest.approx(50)
    assert {r.state for r in report} == {"closed"}
