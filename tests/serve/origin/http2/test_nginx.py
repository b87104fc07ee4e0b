"""The relay client and the whole proxy before nginx, which speaks HTTP/2 in its own way."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from edgeinf.core.config.schema import Cache, Failover, Routing
from edgeinf.mock import MockOrigin
from edgeinf.serve.origin.client import Request
from edgeinf.serve.origin.pool import Connections
from tests.serve.origin.http2.nginx import Front, fronted
from tests.serve.origin.raw import body_of
from tests.serve.proxying import ask_chat, proxying, region

CHAT = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}'
Certificate = tuple[Path, Path]


@pytest.fixture
async def front(origin: MockOrigin, certificate: Certificate, tmp_path: Path) -> AsyncIterator[Front]:
    async with fronted(origin.port, certificate, tmp_path) as running:
        yield running


def asked(front: Front, path: str = "/v1/chat/completions", body: bytes = CHAT) -> Request:
    headers = [(b"content-type", b"application/json")]
    return Request(method="POST", url=front.url + path, headers=headers, body=body, http2=True)


def connections(client: Connections) -> int:
    return sum(len(pool.connections) for pool in client._http2._pools.values())  # type: ignore[union-attr]


async def test_streams_and_whole_answers_come_as_the_origin_gives_them(
    client: Connections, front: Front, origin: MockOrigin
):
    streamed = await client.send(asked(front))
    assert dict(streamed.headers)[b"content-type"].startswith(b"text/event-stream")
    assert (await body_of(streamed)).endswith(b"data: [DONE]\n\n")
    whole = await client.send(asked(front, body=CHAT.replace(b"true", b"false")))
    assert b'"finish_reason":"stop"' in await body_of(whole)
    answers = await asyncio.gather(*(client.send(asked(front)) for _ in range(40)))
    assert all([(await body_of(answer)).endswith(b"[DONE]\n\n") for answer in answers])
    assert connections(client) == 1
    assert origin.count == 42


async def test_a_large_request_and_a_large_answer(client: Connections, front: Front, origin: MockOrigin):
    origin.use({"answer": {"tokens": 20_000}})
    large = CHAT.replace(b'"hi"', b'"' + b"x" * 3_000_000 + b'"')
    answers = await asyncio.gather(*(client.send(asked(front, body=large)) for _ in range(3)))
    assert all([(await body_of(answer)).endswith(b"[DONE]\n\n") for answer in answers])
    assert connections(client) == 1


@pytest.mark.parametrize("fault", ["slow-headers;by=60s", "stall;after=0", "stall;tokens=2"])
async def test_giving_up_ends_the_origins_work_within_a_second(
    client: Connections, front: Front, origin: MockOrigin, fault: str
):
    origin.use({"fault": fault})

    async def ask() -> None:
        await body_of(await client.send(asked(front)))

    task = asyncio.create_task(ask())
    await origin.until(lambda: origin.active == 1)
    await asyncio.sleep(0.1)
    started = time.perf_counter()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await origin.until_idle(within_s=1.0)
    assert time.perf_counter() - started < 1.0
    assert connections(client) == 1


async def test_a_reload_of_the_origin_breaks_no_answer(client: Connections, front: Front, origin: MockOrigin):
    origin.use({"tpot": "20ms", "answer": {"tokens": 60}})
    before = await client.send(asked(front))
    assert await before.read()
    front.process.send_signal(signal.SIGHUP)
    await front.until(lambda: not connections(client) or _retired(client))
    after = await client.send(asked(front))
    first, second = await asyncio.gather(body_of(before), body_of(after))
    assert first.endswith(b"[DONE]\n\n")
    assert second.endswith(b"[DONE]\n\n")


def _retired(client: Connections) -> bool:
    return any(
        connection.retired
        for pool in client._http2._pools.values()  # type: ignore[union-attr]
        for connection in pool.connections
    )


async def test_requests_beyond_what_a_connection_may_carry_go_on_the_next(
    client: Connections, origin: MockOrigin, certificate: Certificate, tmp_path: Path
):
    more = "http2_max_concurrent_streams 4; keepalive_requests 10;"
    origin.use({"ttft": "50ms"})
    async with fronted(origin.port, certificate, tmp_path, more=more) as front:
        for _ in range(3):
            answers = await asyncio.gather(*(client.send(asked(front)) for _ in range(12)))
            assert all([(await body_of(answer)).endswith(b"[DONE]\n\n") for answer in answers])
        assert origin.count == 36


async def test_the_proxy_relays_over_it_and_fails_over_from_it(
    origin: MockOrigin, certificate: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    async with fronted(origin.port, certificate, tmp_path) as front, MockOrigin({"name": "other"}) as other:
        far = region(front.url, "far", http2=True)
        routing = Routing(strategy="priority", prewarm=2, failover=Failover(attempts=2))
        near = region(other, "other", priority=1)
        async with proxying(far, near, routing=routing, cache=Cache(disk=None)) as proxy:
            answers = await asyncio.gather(*(ask_chat(proxy, f"{n}") for n in range(10)))
            assert {answer.headers["x-edgeinf-region"] for answer in answers} == {"far"}
            client = proxy.runtime.client
            assert isinstance(client, Connections)
            assert connections(client) == 1
            front.process.terminate()
            await front.process.wait()
            answer: httpx.Response = await ask_chat(proxy, "after")
            assert answer.headers["x-edgeinf-region"] == "other"
