"""Three nodes and a real Redis: one cache, one limit, one fetch; and a Redis that fails costs no client anything."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.config.schema import Cache, Disk, Limit, Shared
from edgeinf.mock import MockOrigin
from tests.serve.fleet.real_redis import RealRedis
from tests.serve.origin.raw import RawOrigin
from tests.serve.running import Proxy, config_for, running

# A Redis that is only slow on a busy machine is no Redis that fails.
PATIENT_S = 5.0


@asynccontextmanager
async def nodes(
    origin: MockOrigin | RawOrigin,
    redis: RealRedis,
    folder: Path,
    *,
    count: int = 3,
    limits: tuple[Limit, ...] = (),
    timeout_s: float = PATIENT_S,
    **cache: Any,
) -> AsyncIterator[list[Proxy]]:
    shared = Shared(url=redis.url, timeout=timeout_s)
    async with AsyncExitStack() as stack:
        made = []
        for number in range(count):
            own = folder / f"node{number}"
            own.mkdir(exist_ok=True)
            config = config_for(
                own,
                origin.url,
                cache=Cache(**{"disk": None, "shared": shared, **cache}),
                limits=limits,
                limits_shared=Shared(url=redis.url.replace("/0", "/1"), timeout=timeout_s) if limits else None,
            )
            made.append(await stack.enter_async_context(running(config)))
        yield made


async def until(condition: Any, within_s: float = 20.0) -> None:
    async with asyncio.timeout(within_s):
        while not await condition():  # noqa: ASYNC110 - a state of other processes
            await asyncio.sleep(0.02)


async def spread_out(made: list[Proxy], contents: list[str], **fields: Any) -> list[tuple[int, str]]:
    answers = await asyncio.gather(*(made[n % len(made)].ask(text, **fields) for n, text in enumerate(contents)))
    return [(answer.status_code, answer.headers.get("x-edgeinf-cache", "")) for answer in answers]


async def test_what_one_node_stored_the_others_answer(origin: MockOrigin, redis: RealRedis, tmp_path: Path) -> None:
    async with nodes(origin, redis, tmp_path) as made:
        first = await made[0].ask("a", stream=True)
        await made[0].runtime.tiers.flush()
        others = [await node.ask("a") for node in made[1:]]
        assert [answer.headers["x-edgeinf-cache"] for answer in others] == ["hit", "hit"]
        assert origin.count == 1
        again = await made[1].ask("a", stream=True)
        assert again.text == first.text
        events = (await made[1].client.get("/_edgeinf/api/events")).json()["events"]
        assert [event["tier"] for event in events] == ["memory", "shared"]


async def test_equal_calls_to_three_nodes_are_one_fetch(origin: MockOrigin, redis: RealRedis, tmp_path: Path) -> None:
    origin.use({"ttft": "300ms"})
    async with nodes(origin, redis, tmp_path) as made:
        answers = Counter(await spread_out(made, ["the same"] * 18))
        assert {status for status, _ in answers} == {200}
        assert origin.count == 1


async def test_a_stream_waits_only_a_moment_for_a_node_that_fetches_it_whole(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path
) -> None:
    origin.use({"ttft": "3s"})
    async with nodes(origin, redis, tmp_path, count=2) as made:
        first = asyncio.create_task(made[0].ask("the same"))
        await origin.until_calls(1)
        second = asyncio.create_task(made[1].ask("the same", stream=True))
        await origin.until_calls(2)
        assert {(await first).status_code, (await second).status_code} == {200}


async def test_a_node_that_dies_while_it_fetches_holds_nobody_up(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path
) -> None:
    """Its lease is left behind, as after a power cut: the others fetch when it has run out."""
    async with nodes(origin, redis, tmp_path, count=1) as made:
        await made[0].ask("a", headers={"cache-control": "no-store"})
        key = (await made[0].ask("a")).headers["cache-status"].partition('key="')[2].partition('"')[0]
        await made[0].client.post("/_edgeinf/api/purge", json={"all": True})
        link = made[0].runtime.tiers.far[0].link  # type: ignore[attr-defined]
        await link.run(lambda client: client.set(b"edgeinf:f:" + bytes.fromhex(key), b"gone", px=700))
        answer = await made[0].ask("a")
        assert (answer.status_code, answer.headers["x-edgeinf-cache"]) == (200, "miss")


@pytest.mark.parametrize("kind", ["requests", "tokens", "concurrency"])
async def test_three_nodes_hold_one_limit_exactly(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path, kind: str
) -> None:
    origin.use({"ttft": "400ms", "answer": {"tokens": 100, "input_tokens": 100}})
    limit = {
        "requests": Limit(name="l", requests=(7, 3600.0)),
        "tokens": Limit(name="l", tokens=(1000, 3600.0)),
        "concurrency": Limit(name="l", concurrency=5),
    }[kind]
    async with nodes(origin, redis, tmp_path, limits=(limit,), memory=None) as made:
        answers = Counter(
            status for status, _ in await spread_out(made, [f"{n} {'word ' * 60}" for n in range(30)], max_tokens=100)
        )
        assert set(answers) == {200, 429}
        if kind == "requests":
            assert answers[200] == 7
        elif kind == "concurrency":
            assert origin.peak == 5
            assert (await made[1].ask("afterwards")).status_code == 200
        else:
            assert 1 <= answers[200] <= 5
        assert origin.count == answers[200] + (kind == "concurrency")


async def test_a_slot_is_given_back_by_whichever_node_had_it(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path
) -> None:
    limits = (Limit(name="l", concurrency=1),)
    async with nodes(origin, redis, tmp_path, count=2, limits=limits, memory=None) as made:
        for number in range(10):

            async def passes(number: int = number) -> bool:
                return (await made[number % 2].ask(f"q{number}")).status_code == 200

            await until(passes)


async def test_redis_killed_and_restarted_under_load_is_felt_by_no_client(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path
) -> None:
    limits = (Limit(name="l", requests=(1_000_000, 60.0)),)
    async with nodes(origin, redis, tmp_path, limits=limits) as made:
        over = asyncio.Event()
        statuses: Counter[int] = Counter()

        async def ask_on(number: int) -> None:
            count = 0
            while not over.is_set():
                count += 1
                answer = await made[number % 3].ask(f"{number % 4} {count % 50}", stream=count % 2 == 0)
                statuses[answer.status_code] += 1
                assert (answer.text.rstrip().endswith("[DONE]")) == (count % 2 == 0)

        askers = [asyncio.create_task(ask_on(number)) for number in range(9)]
        try:
            for _ in range(2):
                await asyncio.sleep(0.5)
                redis.stop()
                await until(lambda: said_on_all(made, "shared", "limits"))
                redis.start()
                await until(lambda: nothing_said(made))
        finally:
            over.set()
            await asyncio.gather(*askers)
        assert set(statuses) == {200}
        assert statuses[200] > 100


async def said_on_all(made: list[Proxy], *causes: str) -> bool:
    return all(cause in node.runtime.notices for node in made for cause in causes)


async def nothing_said(made: list[Proxy]) -> bool:
    return not any(node.runtime.notices for node in made)


async def test_a_redis_that_does_not_answer_costs_its_timeout_and_then_nothing(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path
) -> None:
    async with nodes(origin, redis, tmp_path, count=1, timeout_s=0.5) as made:
        await made[0].ask("warm")
        redis.freeze()
        for number in range(5):
            assert (await made[0].ask(f"slow {number}")).status_code == 200
        started = time.monotonic()
        for number in range(20):
            assert (await made[0].ask(f"quick {number}")).status_code == 200
        # Twenty lookups of half a second each would be ten; one probe may be among them.
        assert time.monotonic() - started < 5.0
        stats = (await made[0].client.get("/_edgeinf/api/stats")).json()
        assert "answered from this node's own tiers" in " ".join(stats["notes"])
        redis.thaw()


async def test_a_full_redis_keeps_answering_and_says_so(origin: MockOrigin, redis: RealRedis, tmp_path: Path) -> None:
    async with nodes(origin, redis, tmp_path, memory=None) as made:
        await made[0].ask("kept")
        await made[0].runtime.tiers.flush()
        redis.command("CONFIG", "SET", "maxmemory", "1")
        assert (await made[0].ask("has no room")).status_code == 200
        await made[0].runtime.tiers.flush()
        assert "has no room" in made[0].runtime.notices["full"]
        assert (await made[1].ask("kept")).headers["x-edgeinf-cache"] == "hit"
        redis.command("CONFIG", "SET", "maxmemory", "0")
        await made[0].ask("has room")
        await made[0].runtime.tiers.flush()
        assert "full" not in made[0].runtime.notices


async def test_without_redis_each_node_holds_its_share_of_a_limit(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path
) -> None:
    limits = (Limit(name="l", requests=(9, 3600.0)),)
    async with nodes(origin, redis, tmp_path, limits=limits) as made:
        await until(lambda: knows_three(made))
        redis.stop()
        for node in made:
            statuses = Counter([(await node.ask(f"q{n}")).status_code for n in range(6)])
            assert statuses == {200: 3, 429: 3}


async def knows_three(made: list[Proxy]) -> bool:
    for node in made:
        limiter = node.runtime.limiter
        limiter.nodes = await limiter.link.run(limiter._beat)  # type: ignore[attr-defined]
    return all(node.runtime.limiter.nodes == 3 for node in made)  # type: ignore[attr-defined]


@pytest.mark.parametrize("disk", [False, True], ids=["memory", "disk"])
async def test_a_purge_reaches_every_node(origin: MockOrigin, redis: RealRedis, tmp_path: Path, disk: bool) -> None:
    async with AsyncExitStack() as stack:
        made = await stack.enter_async_context(nodes(origin, redis, tmp_path, count=1))
        if disk:
            await stack.aclose()
            made = []
            for number in range(2):
                config = config_for(tmp_path / f"n{number}", origin.url)
                cache = Cache(
                    disk=Disk(path=tmp_path / f"n{number}" / "c"), shared=Shared(url=redis.url, timeout=PATIENT_S)
                )
                (tmp_path / f"n{number}").mkdir()
                made.append(await stack.enter_async_context(running(replace(config, cache=cache))))
        else:
            made += await stack.enter_async_context(nodes(origin, redis, tmp_path, count=2))
        for node in made:
            # Stored anew, so that each node has it in every tier of its own.
            await node.ask("a", headers={"cache-control": "no-cache"})
            await node.ask("b", headers={"cache-control": "no-cache", "x-edgeinf-namespace": "keep"})
            await node.runtime.tiers.flush()
        await made[0].client.post("/_edgeinf/api/purge", json={"namespace": ""})

        async def forgotten() -> bool:
            tiers = made[1].runtime.tiers
            assert tiers.memory is not None
            far = [len(await tier.scan()) for tier in tiers.far]
            return [len(tiers.memory.scan()), *far] == [1] * (len(far) + 1)

        await until(forgotten)


async def test_a_node_that_was_off_forgets_what_was_purged_meanwhile(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path
) -> None:
    shared = Shared(url=redis.url, timeout=PATIENT_S)
    (tmp_path / "off").mkdir()
    config = config_for(tmp_path / "off", origin.url)
    config = replace(config, cache=Cache(disk=Disk(path=tmp_path / "off" / "c"), shared=shared))
    async with running(config) as node:
        await node.ask("a")
    async with nodes(origin, redis, tmp_path, count=1) as made:
        await made[0].client.post("/_edgeinf/api/purge", json={"all": True})
    async with running(config) as node:

        async def forgotten() -> bool:
            return await node.runtime.tiers.far[0].scan() == []

        await until(forgotten)
        assert (await node.ask("a")).headers["x-edgeinf-cache"] == "miss"


async def test_a_purge_while_redis_is_away_is_told_when_it_is_back(
    origin: MockOrigin, redis: RealRedis, tmp_path: Path
) -> None:
    async with nodes(origin, redis, tmp_path, count=2) as made:
        for node in made:
            await node.ask("a")
        redis.stop()
        answer = await made[0].client.post("/_edgeinf/api/purge", json={"all": True})
        assert answer.status_code == 200
        redis.start()

        async def forgotten() -> bool:
            assert made[1].runtime.tiers.memory is not None
            return made[1].runtime.tiers.memory.scan() == []

        await until(forgotten)
