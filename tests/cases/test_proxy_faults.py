"""Whatever an origin does, at whatever point: no wrong answer then, and a right one as soon as it is well."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest

from edgeinf.core.config.schema import Cache, Failover, Health, Routing, Timeouts
from edgeinf.core.wire import sse
from edgeinf.mock import MockOrigin
from tests.serve.proxying import FAST, Proxy, chat, messages, proxying, region

ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", chat()),
    "messages": ("/v1/messages", messages()),
    "responses": ("/v1/responses", {"model": "m", "input": "hi"}),
}
BEFORE = {
    "cut": "cut;at=headers",
    "cut after the headers": "cut;after=0",
    "stalled": "stall;at=headers",
    "stalled after the headers": "stall;after=0",
    "reset": "reset;at=headers",
    "malformed": "malformed",
    "garbage": "garbage",
    "html": "html;status=200",
    "erroring": "500",
    "error inside": "soft-error",
    "wrong length": "length;by=50",
    "nothing": "truncate;after=0",
}
AFTER = {
    "cut": "cut;tokens=3",
    "stalled": "stall;tokens=3",
    "reset": "reset;tokens=3",
    "malformed": "malformed;tokens=3",
    "error inside": "soft-error;tokens=3",
    "ended": "truncate;tokens=3",
}
IMPATIENT: Timeouts = replace(FAST, connect=0.5, ttft=0.5, idle=0.5, total=1.0)
SCRIPT: dict[str, Any] = {"fixed_ids": True, "tpot": "5ms"}


async def _well(origin: MockOrigin, proxy: Proxy, path: str, body: dict[str, Any]) -> None:
    """The origin is well again: the next answer is right, fresh, and then a hit that is equal."""
    origin.use(SCRIPT)
    async with httpx.AsyncClient(base_url=origin.url) as client:
        direct = await client.post(path, json=body)
    answer = await proxy.post(path, body)
    assert (answer.status_code, answer.headers["x-edgeinf-cache"]) == (200, "miss")
    again = await proxy.post(path, body)
    assert again.headers["x-edgeinf-cache"] == "hit"
    assert answer.content == again.content == direct.content


def _is_an_error(answer: httpx.Response, path: str) -> bool:
    """Return whether a client of this dialect takes the answer for an error, or for one that is not whole."""
    if answer.status_code >= 400:
        return bool(answer.json()["error"]["message"])
    events = sse.decode_all(answer.content)
    ended = {b"[DONE]"} & {event.data for event in events} or {b"message_stop", b"response.completed"} & {
        event.name for event in events
    }
    return not ended and b'"error"' in events[-1].data


# A whole answer that stalls waits for its time-out, which no dialect has to do with: one stands for all.
EARLY = [
    pytest.param(fault, dialect, stream, id=f"{fault}-{dialect}-{'stream' if stream else 'whole'}")
    for fault in BEFORE
    for dialect in ASKED
    for stream in (True, False)
    if stream or dialect == "chat" or not fault.startswith("stalled")
]


@pytest.mark.parametrize(("fault", "dialect", "stream"), EARLY)
async def test_before_the_first_token(fault: str, dialect: str, stream: bool, origin: MockOrigin) -> None:
    path, body = ASKED[dialect]
    body = {**body, "stream": stream}
    routing = Routing(strategy="priority", failover=Failover(retry_on=()))
    only = region(origin, "r", timeouts=IMPATIENT)
    async with proxying(only, routing=routing, cache=Cache(disk=None)) as proxy:
        origin.use({**SCRIPT, "fault": BEFORE[fault]})
        answer = await asyncio.wait_for(proxy.post(path, body), 10)
        if stream and fault == "wrong length":  # all of it came, and then the connection broke
            assert not _is_an_error(answer, path)
            return
        if not stream or fault != "malformed":  # one event that is not JSON passes as it came
            assert _is_an_error(answer, path)
        origin.release()
        await _well(origin, proxy, path, body)


@pytest.mark.parametrize("dialect", ASKED)
@pytest.mark.parametrize("fault", AFTER)
async def test_after_the_first_token(fault: str, dialect: str, origin: MockOrigin) -> None:
    path, body = ASKED[dialect]
    body = {**body, "stream": True}
    routing = Routing(strategy="priority", failover=Failover(retry_on=()))
    only = region(origin, "r", timeouts=IMPATIENT)
    async with proxying(only, routing=routing, cache=Cache(disk=None)) as proxy:
        origin.use({**SCRIPT, "fault": AFTER[fault]})
        answer = await asyncio.wait_for(proxy.post(path, body), 10)
        assert answer.status_code == 200
        if fault != "malformed":  # one event that is not JSON passes as it came
            assert _is_an_error(answer, path)
        origin.release()
        await _well(origin, proxy, path, body)


@pytest.mark.parametrize("dialect", ASKED)
async def test_a_slow_origin_is_waited_for(dialect: str, origin: MockOrigin, proxy: Proxy) -> None:
    path, body = ASKED[dialect]
    origin.use({**SCRIPT, "headers_delay": "300ms", "ttft": "500ms", "tpot": "20ms"})
    answer = await proxy.post(path, {**body, "stream": True})
    assert answer.status_code == 200
    assert not _is_an_error(answer, path)


@pytest.mark.parametrize("outage", ["down", "freeze"])
async def test_an_outage_in_the_middle_of_many_calls(outage: str, origin: MockOrigin) -> None:
    """What is answered in full is right; what is not says so; afterwards all is right."""
    routing = Routing(strategy="priority", failover=Failover(retry_on=()), health=Health(cooldown=0.2))
    only = region(origin, "r", timeouts=IMPATIENT)
    path = "/v1/chat/completions"
    async with proxying(only, routing=routing, cache=Cache(disk=None)) as proxy:
        origin.use({**SCRIPT, "rules": [{"when": {"nth": 20}, "fault": f"{outage};for=400ms"}]})
        bodies = [chat(f"question {number}", stream=number % 2 == 0) for number in range(60)]

        async def ask(body: dict[str, Any]) -> bool:
            answer = await proxy.post(path, body)
            if body["stream"] and answer.status_code == 200:
                return not _is_an_error(answer, path)
            return answer.status_code == 200

        whole = await asyncio.gather(*(ask(body) for body in bodies))
        async with asyncio.timeout(20):
            while (await proxy.post(path, chat("well?"), cache_control="no-store")).status_code != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        origin.use({**SCRIPT, "tpot": 0})
        async with httpx.AsyncClient(base_url=origin.url) as client:
            for body, was_whole in zip(bodies, whole, strict=True):
                answer = await proxy.post(path, body)
                direct = await client.post(path, json=body)
                assert answer.content == direct.content
                assert answer.headers["x-edgeinf-cache"] == ("hit" if was_whole else "miss")
