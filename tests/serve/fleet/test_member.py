"""Workers pass answers to each other; the whole is tried with real processes in test_supervise."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from edgeinf.core.clock import SystemClock
from edgeinf.mock import MockOrigin
from edgeinf.serve.fleet.hub import Hub
from edgeinf.serve.fleet.link import connect
from edgeinf.serve.fleet.member import Member
from edgeinf.serve.limits.local import LocalLimiter
from tests.serve.running import Proxy, config_for, running


@asynccontextmanager
async def workers(origin: MockOrigin, folder: Path, count: int = 3) -> AsyncIterator[list[Proxy]]:
    """Run several servers on one loop, joined by a hub as the workers of one parent are."""
    hub = Hub(LocalLimiter(SystemClock()))
    links = []
    async with AsyncExitStack() as stack:
        made = []
        for number in range(count):
            (folder / str(number)).mkdir()
            proxy = await stack.enter_async_context(running(config_for(folder / str(number), origin.url)))
            # As in workers of one parent, which share the installation's secret.
            proxy.runtime.seed, proxy.runtime.secret = 7, b"s" * 32
            ours, theirs = socket.socketpair()
            hub_end = await connect(ours, hub.handlers(), on_lost=hub.lost)
            hub.add(hub_end)
            handlers: dict[str, object] = {}
            worker_end = await connect(theirs, handlers)  # type: ignore[arg-type]
            member = Member(proxy.runtime, worker_end)
            handlers.update(member.handlers())
            proxy.runtime.peers = member
            proxy.runtime.shared_flights = member
            links += [hub_end, worker_end]
            made.append(proxy)
        yield made
        for link in links:
            link.close()
        await asyncio.sleep(0)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_an_answer_under_way_is_passed_on_byte_for_byte(origin: MockOrigin, tmp_path: Path, stream: bool) -> None:
    origin.use({"ttft": "100ms", "answer": {"tokens": 40}, "tpot": "2ms"})
    async with workers(origin, tmp_path) as made:
        answers = await asyncio.gather(*(made[n % 3].ask("same", stream=stream) for n in range(9)))
        assert origin.count == 1
        assert len({answer.content for answer in answers}) == 1
        assert sorted(answer.headers["x-edgeinf-cache"] for answer in answers) == ["collapsed"] * 8 + ["miss"]


async def test_a_stored_answer_is_taken_from_the_worker_that_has_it(origin: MockOrigin, tmp_path: Path) -> None:
    async with workers(origin, tmp_path) as made:
        await made[0].ask("same")
        await made[0].runtime.tiers.flush()
        await asyncio.sleep(0.05)
        answer = await made[1].ask("same", stream=True)
        assert (answer.headers["x-edgeinf-cache"], origin.count) == ("hit", 1)
        assert (await made[1].ask("same")).headers["x-edgeinf-cache"] == "hit"


async def test_the_first_to_ask_may_leave_and_the_others_still_get_all(origin: MockOrigin, tmp_path: Path) -> None:
    origin.use({"ttft": "300ms", "answer": {"tokens": 20}, "tpot": "5ms"})
    async with workers(origin, tmp_path, 2) as made:
        first = asyncio.create_task(made[0].ask("same", stream=True))
        await origin.until_calls(1)
        second = asyncio.create_task(made[1].ask("same", stream=True))
        await asyncio.sleep(0.1)
        first.cancel()
        answer = await second
        assert answer.status_code == 200
        assert answer.text.rstrip().endswith("[DONE]")
        assert origin.count == 1


async def test_when_the_last_reader_anywhere_has_left_the_origin_is_told(origin: MockOrigin, tmp_path: Path) -> None:
    origin.use({"ttft": "50ms", "answer": {"tokens": 2000}, "tpot": "20ms"})
    async with workers(origin, tmp_path, 2) as made:
        calls = [asyncio.create_task(node.ask("same", stream=True)) for node in made]
        await origin.until_calls(1)
        await asyncio.sleep(0.3)
        for call in calls:
            call.cancel()
        await origin.until_idle(within_s=10)
        assert origin.count == 1


async def test_an_answer_that_may_not_be_kept_is_not_passed_on(origin: MockOrigin, tmp_path: Path) -> None:
    origin.use({"ttft": "200ms", "answer": {"finish": "content_filter"}})
    async with workers(origin, tmp_path, 2) as made:
        answers = await asyncio.gather(*(node.ask("same") for node in made))
        assert [answer.status_code for answer in answers] == [200, 200]
        assert origin.count == 2
        assert {answer.headers["x-edgeinf-cache"] for answer in answers} == {"miss"}
