"""Two attempts that race: the first token wins, and the other connection is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from edgeinf.core.config.schema import Cache, Hedge, Memory, Routing
from edgeinf.mock import MockOrigin
from tests.serve.proxying import ask_chat, data, proxying, region, text_of

Make = Callable[..., Awaitable[MockOrigin]]


def hedging(after: float | str = 0.1, budget: float = 1.0) -> Routing:
    return Routing(strategy="priority", hedge=Hedge(after=after, budget=budget))


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_a_slow_first_token_is_overtaken_and_its_connection_closed(make_origin: Make, stream: bool) -> None:
    a, b = await make_origin({"ttft": "30s"}), await make_origin({"fixed_ids": True})
    cache = Cache(disk=None, memory=Memory())
    async with proxying(region(a, "a"), region(b, "b"), routing=hedging(), cache=cache) as proxy:
        got = await ask_chat(proxy, stream=stream)
        await a.until_idle(within_s=1.0)
        again = await ask_chat(proxy, stream=stream)
        report = proxy.runtime.regions.report(proxy.runtime.generation.origins)
    assert got.headers["x-edgeinf-region"] == "b"
    assert text_of(got) == text_of(again)
    assert again.headers["x-edgeinf-cache"] == "hit"
    assert a.calls[0].outcome == "disconnected"
    assert [(r.in_flight, r.failed) for r in report] == [(0, 0), (0, 0)]


async def test_the_first_to_bring_a_token_wins_even_if_it_set_out_first(make_origin: Make) -> None:
    a, b = await make_origin({"ttft": "300ms", "tpot": "5ms"}), await make_origin({"ttft": "30s"})
    async with proxying(region(a, "a"), region(b, "b"), routing=hedging(0.05)) as proxy:
        got = await ask_chat(proxy, stream=True)
        await b.until_idle(within_s=1.0)
    assert got.headers["x-edgeinf-region"] == "a"
    assert data(got)[-1] == "[DONE]"
    assert b.count == 1
    roles = [c for c in data(got) if isinstance(c, dict) and c["choices"] and c["choices"][0]["delta"].get("role")]
    assert len(roles) == 1


async def test_a_quick_answer_causes_no_second_call(make_origin: Make) -> None:
    a, b = await make_origin(), await make_origin()
    async with proxying(region(a, "a"), region(b, "b"), routing=hedging(5.0)) as proxy:
        await asyncio.gather(*(ask_chat(proxy, f"{n}", stream=n % 2 == 0) for n in range(20)))
    assert (a.count, b.count) == (20, 0)


async def test_second_calls_stay_within_their_budget(make_origin: Make) -> None:
    a, b = await make_origin({"ttft": "200ms"}), await make_origin({"ttft": "200ms"})
    async with proxying(region(a, "a"), region(b, "b"), routing=hedging(0.02, budget=0.1)) as proxy:
        await asyncio.gather(*(ask_chat(proxy, f"{n}") for n in range(50)))
    assert a.count == 50
    assert 1 <= b.count <= 5


async def test_a_percentile_needs_measurements_first(make_origin: Make) -> None:
    a, b = await make_origin({"ttft": "20ms"}), await make_origin()
    async with proxying(region(a, "a"), region(b, "b"), routing=hedging("p95")) as proxy:
        for number in range(25):
            await ask_chat(proxy, f"{number}")
        quiet = b.count
        a.use({"ttft": "5s"})
        got = await ask_chat(proxy, "slow")
    assert quiet <= 3
    assert got.headers["x-edgeinf-region"] == "b"


async def test_if_the_first_fails_meanwhile_the_second_still_answers(make_origin: Make) -> None:
    a, b = await make_origin({"ttft": "200ms", "fault": "cut;after=0"}), await make_origin({"ttft": "400ms"})
    async with proxying(region(a, "a"), region(b, "b"), routing=hedging(0.05)) as proxy:
        got = await ask_chat(proxy, stream=True)
    assert got.headers["x-edgeinf-region"] == "b"
    assert data(got)[-1] == "[DONE]"


async def test_a_client_that_leaves_ends_both(make_origin: Make) -> None:
    a, b = await make_origin({"ttft": "30s"}), await make_origin({"ttft": "30s"})
    async with proxying(region(a, "a"), region(b, "b"), routing=hedging(0.05)) as proxy:
        task = asyncio.create_task(ask_chat(proxy, stream=True))
        await b.until_calls(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await a.until_idle(within_s=1.0)
        await b.until_idle(within_s=1.0)
        report = proxy.runtime.regions.report(proxy.runtime.generation.origins)
    assert [r.in_flight for r in report] == [0, 0]


async def test_what_acts_at_the_origin_is_never_sent_twice_at_once(make_origin: Make) -> None:
    a, b = await make_origin({"ttft": "300ms"}), await make_origin()
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    async with proxying(region(a, "a"), region(b, "b"), routing=hedging(0.02)) as proxy:
        await ask_chat(proxy, store=True, tools=tools)
    assert (a.count, b.count) == (1, 0)


async def test_a_call_given_up_before_its_first_step_gives_its_place_back(make_origin: Make) -> None:
    a, b = await make_origin(), await make_origin()
    async with proxying(region(a, "a", max_concurrency=1), region(b, "b"), routing=hedging()) as proxy:
        for number in range(30):
            task = asyncio.create_task(ask_chat(proxy, f"{number}", stream=True))
            await asyncio.sleep(0.0005 * number)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await a.until_idle(within_s=2.0)
        await b.until_idle(within_s=2.0)
        await asyncio.sleep(0.1)
        report = proxy.runtime.regions.report(proxy.runtime.generation.origins)
    assert [r.in_flight for r in report] == [0, 0]
