"""Equal questions at the same time: one call, and nobody suffers for another (P44, P47, P79)."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import httpx
import pytest

from edgeinf.core.config.schema import Cache, Failover, Routing
from edgeinf.core.pricing import Prices
from edgeinf.mock import MockOrigin
from edgeinf.serve.price_book import PriceBook
from tests.serve.proxying import Proxy, chat, data, proxying, region, text_of

CHAT = "/v1/chat/completions"
STREAM = chat(stream=True)


async def _start(proxy: Proxy, body: dict[str, Any], chunks: int) -> tuple[contextlib.AsyncExitStack, bytes]:
    """Begin to read a stream and return what closes it, and the first bytes."""
    stack = contextlib.AsyncExitStack()
    answer = await stack.enter_async_context(proxy.client.stream("POST", CHAT, json=body))
    parts = answer.aiter_raw()
    stack.callback(lambda parts: None, parts)  # httpx closes the connection when the iterator is let go of
    seen = b""
    while seen.count(b"\n\n") < chunks:
        seen += await asyncio.wait_for(anext(parts), 10)
    return stack, seen


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_fifty_at_once_are_one_call(stream: bool, origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"ttft": "200ms", "tpot": "2ms"})
    answers = await asyncio.gather(*(proxy.post(CHAT, chat(stream=stream)) for _ in range(50)))
    assert origin.count == 1
    assert len({answer.content for answer in answers}) == 1
    kinds = [answer.headers["x-edgeinf-cache"] for answer in answers]
    assert (kinds.count("miss"), kinds.count("collapsed")) == (1, 49)
    followers = [answer for answer in answers if answer.headers["x-edgeinf-cache"] == "collapsed"]
    assert all("collapsed" in answer.headers["cache-status"] for answer in followers)
    assert not any("x-request-id" in answer.headers for answer in followers)


async def test_both_shapes_follow_one_answer(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"ttft": "200ms"})
    answers = await asyncio.gather(*(proxy.post(CHAT, chat(stream=number % 2 == 0)) for number in range(10)))
    assert origin.count == 1
    assert len({text_of(answer) for answer in answers}) == 1


async def test_a_late_follower_gets_the_beginning_at_once_and_then_the_rest(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"fault": "stall;tokens=5"})
    leader, seen = await _start(proxy, STREAM, 6)
    follower, prefix = await _start(proxy, STREAM, 6)
    assert prefix == seen
    ends = asyncio.create_task(proxy.post(CHAT, STREAM))
    await asyncio.sleep(0)
    origin.release()
    whole = await ends
    assert data(whole)[-1] == "[DONE]"
    assert whole.content.startswith(seen)
    assert origin.count == 1
    await leader.aclose()
    await follower.aclose()


@pytest.mark.parametrize("when", ["before the first byte", "in the middle"])
async def test_the_leaders_leaving_does_not_cut_the_others(when: str, origin: MockOrigin, proxy: Proxy) -> None:
    early = when == "before the first byte"
    origin.use({"fault": "stall;at=headers" if early else "stall;tokens=5"})
    leader: contextlib.AsyncExitStack | asyncio.Task[Any]
    if early:
        leader = asyncio.create_task(proxy.post(CHAT, STREAM))
        await origin.until_calls(1)
    else:
        leader, _ = await _start(proxy, STREAM, 6)
    follower = asyncio.create_task(proxy.post(CHAT, STREAM))
    await _followed(proxy, 2)
    if isinstance(leader, asyncio.Task):
        leader.cancel()
    else:
        await leader.aclose()
    await _followed(proxy, 1)
    origin.release()
    answer = await asyncio.wait_for(follower, 10)
    assert data(answer)[-1] == "[DONE]"
    assert (origin.count, origin.calls[0].outcome) == (1, "done")
    assert (await proxy.post(CHAT, STREAM)).headers["x-edgeinf-cache"] == "hit"


async def _followed(proxy: Proxy, readers: int) -> None:
    """Wait until the one flight has so many readers."""
    async with asyncio.timeout(10):
        while [len(flight.readers) for flight in proxy.runtime.flights.values()] != [readers]:  # noqa: ASYNC110
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("fault", ["500", "400", "cut;at=headers", "soft-error", "empty-choices"])
async def test_what_cannot_be_shared_leaves_each_follower_its_own_call(
    fault: str, stream: bool, origin: MockOrigin
) -> None:
    """An error before a byte is the leader's alone."""
    routing = Routing(strategy="priority", failover=Failover(retry_on=()))
    async with proxying(region(origin, "r"), routing=routing, cache=Cache(disk=None)) as proxy:
        rule = {"when": {"nth": 1}, "fault": fault}
        origin.use({"headers_delay": "200ms", "rules": [rule]})
        answers = await asyncio.gather(*(proxy.post(CHAT, chat(stream=stream)) for _ in range(6)))
        good = [answer for answer in answers if (answer.status_code == 200 and "[DONE]" in answer.text) or not stream]
        assert len([answer for answer in good if answer.status_code == 200]) >= 5
        assert 2 <= origin.count <= 6


async def test_a_cut_is_told_to_all_who_had_a_part_of_it(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"fault": ["stall;tokens=5;for=500ms", "cut;tokens=8"], "headers_delay": "100ms"})
    answers = await asyncio.gather(*(proxy.post(CHAT, STREAM) for _ in range(5)))
    assert origin.count == 1
    assert all("[DONE]" not in answer.text and '"error"' in answer.text for answer in answers)
    origin.use({})
    assert (await proxy.post(CHAT, STREAM)).headers["x-edgeinf-cache"] == "miss"


async def test_what_may_not_be_kept_is_not_put_in_a_queue(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"headers_delay": "300ms"})
    await asyncio.gather(*(proxy.post(CHAT, chat(store=True)) for _ in range(10)))
    assert (origin.count, origin.peak > 4) == (10, True)
    origin.reset()
    await asyncio.gather(*(proxy.post(CHAT, chat("own"), cache_control="no-store") for _ in range(10)))
    assert (origin.count, origin.peak > 4) == (10, True)
    origin.reset()
    await asyncio.gather(*(proxy.post(CHAT, chat("fresh"), cache_control="no-cache") for _ in range(10)))
    assert (origin.count, origin.peak > 4) == (10, True)


async def test_what_turned_out_not_to_be_kept_is_not_put_in_a_queue_again(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"headers_delay": "200ms", "answer": {"finish": "content_filter"}})
    await proxy.post(CHAT, chat())
    origin.reset()
    await asyncio.gather(*(proxy.post(CHAT, chat()) for _ in range(10)))
    assert (origin.count, origin.peak > 4) == (10, True)


@pytest.mark.parametrize("fault", ["stall;at=headers", "stall;tokens=5", "stall;tokens=0"])
@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_nothing_is_fetched_for_nobody(fault: str, stream: bool, origin: MockOrigin, proxy: Proxy) -> None:
    """P47 abort, P79: closed within a second, before the headers and after, and nothing is kept."""
    origin.use({"fault": fault})
    task = asyncio.create_task(proxy.post(CHAT, chat(stream=stream)))
    await origin.until_calls(1)
    await asyncio.sleep(0.05)
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
    await origin.until(lambda: origin.calls[-1].disconnected_ns > 0, within_s=1.0)
    origin.use({})
    assert (await proxy.post(CHAT, chat(stream=stream))).headers["x-edgeinf-cache"] == "miss"


async def test_leaving_early_leaves_the_question_shareable(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"fault": "stall;at=headers"})
    task = asyncio.create_task(proxy.post(CHAT, STREAM))
    await origin.until_calls(1)
    task.cancel()
    await origin.until(lambda: origin.calls[-1].disconnected_ns > 0, within_s=5.0)
    origin.reset()
    origin.use({"ttft": "200ms"})
    await asyncio.gather(*(proxy.post(CHAT, STREAM) for _ in range(10)))
    assert origin.count == 1


@pytest.mark.parametrize("path", ["/v1/files/f/content", "/v1/echo"])
async def test_a_relayed_path_is_given_up_as_well(path: str, origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"fault": "stall;at=headers"})
    task = asyncio.create_task(
        proxy.client.get(path) if path.endswith("content") else proxy.client.post(path, content=b"x" * 100)
    )
    await origin.until_calls(1)
    if path == "/v1/echo":
        origin.release()
        await task
        return
    task.cancel()
    await origin.until(lambda: origin.calls[-1].disconnected_ns > 0, within_s=1.0)


async def test_finish_fetches_what_can_be_kept_to_its_end(origin: MockOrigin) -> None:
    """P47 finish."""
    cache = Cache(disk=None, on_disconnect="finish")
    async with proxying(region(origin, "r"), cache=cache) as proxy:
        origin.use({"fault": "stall;tokens=5"})
        stack, _ = await _start(proxy, STREAM, 6)
        await stack.aclose()
        await _followed(proxy, 0)
        origin.release()
        await origin.until_idle()
        assert origin.calls[0].outcome == "done"
        async with asyncio.timeout(5):
            while proxy.runtime.flights:  # noqa: ASYNC110
                await asyncio.sleep(0.002)
        again = await proxy.post(CHAT, STREAM)
        assert again.headers["x-edgeinf-cache"] == "hit"
        assert data(again)[-1] == "[DONE]"
        assert origin.count == 1


async def test_finish_is_for_what_can_be_kept_only(origin: MockOrigin) -> None:
    cache = Cache(disk=None, on_disconnect="finish")
    async with proxying(region(origin, "r"), cache=cache) as proxy:
        origin.use({"fault": "stall;tokens=5"})
        stack, _ = await _start(proxy, chat(stream=True, store=True), 6)
        await stack.aclose()
        await origin.until(lambda: origin.calls[-1].disconnected_ns > 0, within_s=1.0)


async def test_finish_gives_up_what_becomes_too_large_to_keep(origin: MockOrigin) -> None:
    cache = Cache(disk=None, on_disconnect="finish")
    async with proxying(region(origin, "r"), cache=cache) as proxy:
        origin.use({"answer": {"tokens": 120_000}, "fault": "stall;tokens=20;for=300ms"})
        stack, _ = await _start(proxy, STREAM, 10)
        await stack.aclose()
        await origin.until(lambda: origin.calls[-1].disconnected_ns > 0, within_s=10.0)
        assert origin.calls[-1].sent_bytes < 20 * 2**20


async def test_a_slow_reader_holds_the_origin_back(origin: MockOrigin) -> None:
    """Back-pressure from end to end: what nobody reads is not fetched."""
    async with proxying(region(origin, "r"), cache=Cache(disk=None)) as proxy:
        origin.use({"answer": {"tokens": 400_000}})
        async with proxy.client.stream("POST", CHAT, json=chat(stream=True, store=True)) as answer:
            parts = answer.aiter_raw()
            await anext(parts)
            sent = -1
            async with asyncio.timeout(20):
                while origin.calls[0].sent_bytes != sent:
                    sent = origin.calls[0].sent_bytes
                    await asyncio.sleep(0.3)
            assert origin.calls[0].outcome == "running"
            assert sent < 40 * 2**20
            with contextlib.suppress(httpx.HTTPError):
                await anext(parts)


async def test_a_hundred_at_a_cold_start_load_the_prices_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """P65."""
    loads: list[Prices] = []

    def warm(prices: Prices) -> None:
        loads.append(prices)

    monkeypatch.setattr(Prices, "warm", warm)
    book = PriceBook({})
    await asyncio.gather(*(book.ready("gpt-4o") for _ in range(100)))
    assert len(loads) == 1
