"""Beside the calls: warm connections, regions asked how they are, load read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.scalar import Secret
from edgeinf.core.config.schema import ActiveHealth, Health, Load, Routing
from edgeinf.mock import MockOrigin
from edgeinf.serve.origin.upkeep import Upkeep
from tests.serve.proxying import Proxy, ask_chat, proxying, region

Make = Callable[..., Awaitable[MockOrigin]]


async def round_of(proxy: Proxy, upkeep: Upkeep) -> None:
    """Do what is due, to its end."""
    upkeep.tick()
    while upkeep._running:
        await asyncio.gather(*upkeep._running.values())
        await asyncio.sleep(0)


async def until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(5):
        while not condition():  # noqa: ASYNC110 - any condition, not one event
            await asyncio.sleep(0.01)


async def test_the_server_keeps_connections_open_before_any_call(origin: MockOrigin) -> None:
    routing = Routing(strategy="priority", prewarm=3)
    async with proxying(region(origin, "a"), routing=routing) as proxy:
        await until(lambda: origin.record.connections == 3)
        await asyncio.gather(*(ask_chat(proxy, f"{n}") for n in range(3)))
        assert origin.record.connections == 3
        assert {call.connection for call in origin.calls} <= {1, 2, 3}


async def test_an_active_check_opens_a_region_that_nobody_asks(origin: MockOrigin) -> None:
    clock = FakeClock()
    routing = Routing(strategy="priority", health=Health(active=ActiveHealth(every=10.0)))
    origin.use({"rules": [{"when": {"path": "/v1/models"}, "fault": "500"}]})
    async with proxying(region(origin, "a"), routing=routing, clock=clock) as proxy:
        upkeep = Upkeep(proxy.runtime)
        states = []
        for _ in range(6):
            await round_of(proxy, upkeep)
            clock.advance(10)
            states.append(proxy.runtime.regions.report(proxy.runtime.generation.origins)[0].state)
    assert states[0] == "closed"
    assert states[-1] == "open"
    assert origin.count == 0


@pytest.mark.parametrize("fault", ["401", "404", "429"])
async def test_a_refusal_of_the_check_is_an_answer(origin: MockOrigin, fault: str) -> None:
    clock = FakeClock()
    routing = Routing(strategy="priority", health=Health(active=ActiveHealth(every=10.0)))
    origin.use({"fault": fault})
    async with proxying(region(origin, "a"), routing=routing, clock=clock) as proxy:
        upkeep = Upkeep(proxy.runtime)
        for _ in range(8):
            await round_of(proxy, upkeep)
            clock.advance(10)
        assert proxy.runtime.regions.usable(proxy.runtime.generation.origins)
    assert len(origin.calls) >= 8


async def test_a_region_that_calls_go_to_is_not_asked_besides(origin: MockOrigin) -> None:
    clock = FakeClock()
    routing = Routing(strategy="priority", health=Health(active=ActiveHealth(every=10.0)))
    async with proxying(region(origin, "a"), routing=routing, clock=clock) as proxy:
        upkeep = Upkeep(proxy.runtime)
        await asyncio.sleep(0.05)  # the server's own first check
        before = len(origin.calls_to("/models"))
        for number in range(5):
            await ask_chat(proxy, f"{number}")
            clock.advance(10)
            await round_of(proxy, upkeep)
        assert len(origin.calls_to("/models")) - before <= 1


async def test_no_user_pays_for_the_trial_where_checks_find_out(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "500"}), await make_origin()
    clock = FakeClock()
    routing = Routing(strategy="priority", health=Health(cooldown=5.0, active=ActiveHealth(every=1.0)))
    async with proxying(region(a, "a"), region(b, "b"), routing=routing, clock=clock) as proxy:
        upkeep = Upkeep(proxy.runtime)
        for number in range(6):
            await ask_chat(proxy, f"{number}")
        opened = a.count
        for number in range(20):
            clock.advance(5)
            await round_of(proxy, upkeep)
            await ask_chat(proxy, f"down {number}")
        while_down = a.count
        a.use({})
        for number in range(3):
            clock.advance(5)
            await round_of(proxy, upkeep)
            await ask_chat(proxy, f"up {number}")
        assert 1 <= opened == while_down <= 5
        assert a.count > while_down


async def test_load_is_read_and_forgotten_when_it_is_no_longer_said(origin: MockOrigin) -> None:
    clock = FakeClock()
    origin.use({"answer": {"waiting": 4, "queue": 0.5}})
    load = Load(metrics=f"{origin.url}/metrics", kind="vllm")
    async with proxying(region(origin, "a", load=load), clock=clock) as proxy:
        upkeep, state = Upkeep(proxy.runtime), proxy.runtime.regions.state(proxy.runtime.generation.origins[0])
        await round_of(proxy, upkeep)
        first = state.figures
        origin.use({"fault": "500"})
        for _ in range(4):
            clock.advance(3)
            await round_of(proxy, upkeep)
    assert first is not None
    assert (first.waiting, first.fill) == (4, 0.5)
    assert state.figures is None


async def test_a_metrics_page_elsewhere_gets_no_credential(make_origin: Make) -> None:
    a, elsewhere = await make_origin(), await make_origin()
    load = Load(metrics=f"{elsewhere.url}/metrics", kind="vllm")
    async with proxying(region(a, "a", load=load, api_key=Secret("region-key"))) as proxy:
        await round_of(proxy, Upkeep(proxy.runtime))
    assert len(elsewhere.calls) >= 1
    assert all("authorization" not in call.headers for call in elsewhere.calls)


async def test_least_loaded_goes_where_the_servers_say_there_is_room(make_origin: Make) -> None:
    busy = await make_origin({"answer": {"waiting": 9, "queue": 0.95}})
    idle = await make_origin({"answer": {"waiting": 0, "queue": 0.05}})
    regions = [
        region(o, n, load=Load(metrics=f"{o.url}/metrics", kind="vllm")) for n, o in (("busy", busy), ("idle", idle))
    ]
    async with proxying(*regions, routing=Routing(strategy="least-loaded")) as proxy:
        await round_of(proxy, Upkeep(proxy.runtime))
        got = [await ask_chat(proxy, f"{n}") for n in range(6)]
    assert {r.headers["x-edgeinf-region"] for r in got} == {"idle"}


async def test_checks_and_warm_connections_offer_what_calls_offer(origin: MockOrigin) -> None:
    routing = Routing(prewarm=2, health=Health(active=ActiveHealth(every=10.0)))
    async with proxying(region(origin, "a", http2=True), region(origin, "b"), routing=routing) as proxy:
        offered: list[tuple[str, bool]] = []
        client = proxy.runtime.client
        send, warm = client.send, client.warm

        async def noted_send(request: Any) -> Any:
            offered.append(("send", request.http2))
            return await send(request)

        async def noted_warm(url: str, count: int, *, http2: bool = False) -> int:
            offered.append(("warm", http2))
            return await warm(url, count, http2=http2)

        client.send, client.warm = noted_send, noted_warm  # type: ignore[method-assign]
        await round_of(proxy, Upkeep(proxy.runtime))
    assert sorted(offered)[:4] == [("send", False), ("send", True), ("warm", False), ("warm", True)]
