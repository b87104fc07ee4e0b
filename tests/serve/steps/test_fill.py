"""From region to region: what the client sees when one of them fails, and what each region gets."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import openai
import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Cache, Failover, Health, Memory, Model, Price, Routing, Timeouts
from edgeinf.core.redact import MASK
from edgeinf.mock import MockOrigin
from edgeinf.serve.observe.observer import Gauges
from tests.serve.proxying import ask_chat, chat, data, messages, proxying, region, text_of

Make = Callable[..., Awaitable[MockOrigin]]
DEAD = "http://127.0.0.1:9"  # the discard port: nothing listens
MEMORY = Cache(disk=None, memory=Memory())
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": ("/v1/chat/completions", chat()),
    "messages": ("/v1/messages", messages()),
    "responses": ("/v1/responses", {"model": "m", "input": "hi", "store": False}),
}


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize(
    "fault",
    ["429", "500", "503", "soft-error", "reset;after=0", "cut;at=headers", "truncate;after=1", "html;status=200"],
)
@pytest.mark.parametrize("dialect", CALLS)
async def test_what_fails_before_the_first_token_is_answered_by_the_next_region_unseen(
    make_origin: Make, dialect: str, fault: str, stream: bool
) -> None:
    a, b = await make_origin({"name": "a", "fault": fault}), await make_origin({"name": "b", "fixed_ids": True})
    path, body = CALLS[dialect]
    body = {**body, "stream": stream}
    async with proxying(region(b, "b")) as direct:
        expected = await direct.post(path, body)
    b.reset()

    async with proxying(region(a, "a"), region(b, "b")) as proxy:
        got = await proxy.post(path, body)

    assert (got.status_code, got.headers["x-edgeinf-region"]) == (200, "b")
    assert got.text == expected.text
    assert (a.count, b.count) == (1, 1)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize(("status", "body"), [(202, '{"id":"later"}'), (204, "")])
async def test_another_good_status_is_passed_on_and_not_kept(
    origin: MockOrigin, status: int, body: str, stream: bool
) -> None:
    origin.use({"rules": [{"fault": f"status;status={status};body={body}"}]})
    async with proxying(region(origin, "only"), cache=MEMORY) as proxy:
        for count in (1, 2):
            got = await ask_chat(proxy, stream=stream)
            assert (got.status_code, got.text, origin.count) == (status, body, count)
            assert got.headers["x-edgeinf-cache"] == "miss"
            assert ("content-length" in got.headers) == (status != 204)


async def test_a_connect_error_on_a_stream_is_retried_elsewhere(origin: MockOrigin) -> None:
    async with proxying(region(DEAD, "dead"), region(origin, "live")) as proxy:
        got = await ask_chat(proxy, stream=True)
    assert got.headers["x-edgeinf-region"] == "live"
    assert data(got)[-1] == "[DONE]"


async def test_a_connect_error_of_the_only_region_is_tried_again_there_and_the_sdk_is_told_not_to() -> None:
    async with proxying(region(DEAD, "dead")) as proxy:
        got = await ask_chat(proxy)
        state = proxy.runtime.regions.report(proxy.runtime.generation.origins)[0]
    assert got.status_code == 502
    assert got.json()["error"]["code"] == "origin_unreachable"
    assert got.headers["x-should-retry"] == "false"
    assert state.calls == 3


async def test_sdks_see_one_clean_stream(make_origin: Make) -> None:
    script = {"rules": [{"when": {"path": "*"}, "fault": "soft-error"}]}
    a, b = await make_origin(script), await make_origin({"answer": {"tokens": 6}})
    prompt: Any = [{"role": "user", "content": "hi"}]
    async with proxying(region(a, "a"), region(b, "b")) as proxy:
        gpt = openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0)
        claude = anthropic.AsyncAnthropic(base_url=proxy.url, api_key="k", max_retries=0)
        async with gpt, claude:
            stream = await gpt.chat.completions.create(model="m", messages=prompt, stream=True)
            chunks = [chunk async for chunk in stream]
            async with claude.messages.stream(model="m", max_tokens=50, messages=prompt) as events:
                message = await events.get_final_message()
    roles = [c.choices[0].delta.role for c in chunks if c.choices and c.choices[0].delta.role]
    assert roles == ["assistant"]
    assert message.usage.output_tokens == 6


async def test_a_silent_region_costs_its_ttft_and_no_more(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "stall;after=0"}), await make_origin()
    quick = Timeouts(connect=1.0, ttft=0.2, idle=5.0, total=20.0)
    async with proxying(region(a, "a", timeouts=quick), region(b, "b")) as proxy:
        started = time.perf_counter()
        got = await ask_chat(proxy, stream=True)
        took = time.perf_counter() - started
    assert got.headers["x-edgeinf-region"] == "b"
    assert 0.2 <= took < 2.2


async def test_a_whole_answer_may_be_silent_for_longer_than_ttft_and_idle(origin: MockOrigin) -> None:
    origin.use({"ttft": "400ms"})
    quick = Timeouts(connect=1.0, ttft=0.1, idle=0.1, total=20.0)
    async with proxying(region(origin, "a", timeouts=quick)) as proxy:
        got = await ask_chat(proxy)
    assert got.status_code == 200
    assert origin.count == 1


async def test_a_whole_answer_has_its_total_time(make_origin: Make) -> None:
    a, b = await make_origin({"ttft": "10s"}), await make_origin()
    quick = Timeouts(connect=1.0, ttft=5.0, idle=5.0, total=0.2)
    async with proxying(region(a, "a", timeouts=quick), region(b, "b")) as proxy:
        got = await ask_chat(proxy)
    assert got.headers["x-edgeinf-region"] == "b"


async def test_a_stall_between_tokens_ends_in_an_error_that_names_the_next_region(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "stall;tokens=3"}), await make_origin()
    quick = Timeouts(connect=1.0, ttft=5.0, idle=0.2, total=20.0)
    async with proxying(region(a, "a", timeouts=quick), region(b, "b")) as proxy:
        got = await ask_chat(proxy, stream=True)
        await a.until_idle()
    last = data(got)[-1]
    assert last["error"]["code"] == "origin_timeout"
    assert "region 'b' is next" in last["error"]["message"]
    assert "[DONE]" not in got.text
    assert b.count == 0


@pytest.mark.parametrize("fault", ["cut;tokens=3", "reset;tokens=3", "no-done", "soft-error;tokens=3"])
async def test_what_breaks_after_the_first_token_is_not_started_again(make_origin: Make, fault: str) -> None:
    a, b = await make_origin({"fault": fault, "tpot": "20ms"}), await make_origin()
    async with proxying(region(a, "a"), region(b, "b"), cache=MEMORY) as proxy:
        got = await ask_chat(proxy, stream=True)
        counted = proxy.runtime.regions.report(proxy.runtime.generation.origins)[0].failed
        await ask_chat(proxy, stream=True)
    assert "error" in data(got)[-1]
    assert "[DONE]" not in got.text
    assert b.count == 0
    assert a.count == 2
    assert counted == 1


async def test_messages_streams_break_in_their_own_form(make_origin: Make) -> None:
    a = await make_origin({"fault": "cut;tokens=3"})
    async with proxying(region(a, "a")) as proxy:
        got = await proxy.post("/v1/messages", messages(stream=True))
    assert got.text.rstrip().rpartition("\n\n")[2].startswith("event: error\ndata: ")


async def test_one_malformed_event_does_not_hang_and_is_not_stored(origin: MockOrigin) -> None:
    origin.use({"fault": "malformed;tokens=2"})
    async with proxying(region(origin, "a"), cache=MEMORY) as proxy:
        got = await asyncio.wait_for(ask_chat(proxy, stream=True), 10)
        again = await ask_chat(proxy, stream=True)
    assert got.status_code == 200
    assert again.headers["x-edgeinf-cache"] == "miss"


async def test_each_region_is_asked_under_its_own_name(make_origin: Make) -> None:
    a = await make_origin({"models": ["gpt-x"], "strict_models": True, "fault": "503"})
    b = await make_origin({"models": ["llama-y"], "strict_models": True})
    model = Model(name="bot", upstream={"a": "gpt-x", "b": "llama-y"})
    async with proxying(region(a, "a"), region(b, "b"), models=(model,)) as proxy:
        got = await ask_chat(proxy, model="bot")
    assert got.status_code == 200
    assert (a.calls[0].json["model"], b.calls[0].json["model"]) == ("gpt-x", "llama-y")
    assert a.calls[0].json["messages"] == b.calls[0].json["messages"]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_the_clients_own_fault_is_passed_on_unchanged_and_cools_nothing(make_origin: Make, status: int) -> None:
    a, b = await make_origin({"fault": str(status)}), await make_origin()
    async with proxying(region(a, "a"), region(b, "b")) as proxy:
        for _ in range(30):
            got = await ask_chat(proxy)
        report = proxy.runtime.regions.report(proxy.runtime.generation.origins)[0]
    direct = a.calls[0]
    assert got.status_code == status == direct.status
    assert "x-should-retry" not in got.headers
    assert (a.count, b.count) == (30, 0)
    assert (report.state, report.failed) == ("closed", 0)


async def test_an_error_of_every_region_comes_back_as_the_last_one_said_it(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "500"}), await make_origin({"fault": "503"})
    async with proxying(region(a, "a"), region(b, "b")) as proxy:
        got = await ask_chat(proxy)
    assert got.status_code == 503
    assert got.headers["x-should-retry"] == "false"
    assert (a.count, b.count) == (1, 1)


async def test_an_error_inside_a_200_comes_back_as_502_with_what_it_said(origin: MockOrigin) -> None:
    origin.use({"fault": "soft-error;message=the model fell over"})
    async with proxying(region(origin, "a"), cache=MEMORY) as proxy:
        got = await ask_chat(proxy)
        failed = proxy.runtime.regions.report(proxy.runtime.generation.origins)[0].failed
    assert got.status_code == 502
    assert "the model fell over" in got.json()["error"]["message"]
    assert failed == 1


async def test_causes_that_the_config_leaves_out_are_not_retried(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "500"}), await make_origin()
    routing = Routing(strategy="priority", failover=Failover(retry_on=("connect", "503")))
    async with proxying(region(a, "a"), region(b, "b"), routing=routing) as proxy:
        got = await ask_chat(proxy)
    assert got.status_code == 500
    assert b.count == 0


async def test_attempts_are_bounded(make_origin: Make) -> None:
    origins = [await make_origin({"fault": "500"}) for _ in range(4)]
    routing = Routing(strategy="priority", failover=Failover(attempts=2))
    async with proxying(*(region(o, f"r{n}") for n, o in enumerate(origins)), routing=routing) as proxy:
        await ask_chat(proxy)
    assert [o.count for o in origins] == [1, 1, 0, 0]


async def test_a_spent_retry_budget_stops_the_multiplication(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "500"}), await make_origin({"fault": "500"})
    health = Health(min_requests=1000, max_error_ratio=1.0)
    routing = Routing(strategy="priority", failover=Failover(retry_budget=0.1), health=health)
    async with proxying(region(a, "a"), region(b, "b"), routing=routing) as proxy:
        await asyncio.gather(*(ask_chat(proxy, f"{n}") for n in range(100)))
    assert a.count + b.count <= 100 + 10 + 10  # a tenth, and the floor of one per second over ten


async def test_the_fallback_model_answers_and_is_never_stored_under_the_first_models_key(make_origin: Make) -> None:
    a = await make_origin({"rules": [{"when": {"model": "big"}, "fault": "503"}]})
    models = (Model(name="bot", upstream="big", fallback=("small-bot",)), Model(name="small-bot", upstream="small"))
    async with proxying(region(a, "a"), models=models, cache=MEMORY) as proxy:
        first = await ask_chat(proxy, model="bot")
        second = await ask_chat(proxy, model="bot")
        own = await ask_chat(proxy, model="small-bot")
        again = await ask_chat(proxy, model="small-bot")
    assert [r.status_code for r in (first, second, own, again)] == [200] * 4
    assert [r.headers["x-edgeinf-cache"] for r in (first, second, own, again)] == ["miss", "miss", "miss", "hit"]
    assert "fallback model" in first.headers["cache-status"]
    assert [call.json["model"] for call in a.calls] == ["big", "small", "big", "small", "small"]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
async def test_what_a_fallback_model_answers_costs_what_that_model_costs(make_origin: Make, stream: bool) -> None:
    a = await make_origin({"rules": [{"when": {"model": "big"}, "fault": "503"}]})
    models = (Model(name="bot", upstream="big", fallback=("small-bot",)), Model(name="small-bot", upstream="small"))
    prices = {"bot": Price(input=1000.0, output=1000.0), "small-bot": Price(input=1.0, output=1.0)}
    async with proxying(region(a, "a"), models=models, prices=prices, cache=MEMORY) as proxy:
        await ask_chat(proxy, model="bot", stream=stream)
        row = proxy.runtime.observer.snapshot(Gauges()).rows[-1].event
    assert row.usd is not None
    assert row.usd == pytest.approx(((row.input_tokens or 0) + (row.output_tokens or 0)) / 1e6)


async def test_a_region_that_asked_to_be_left_alone_is_and_the_client_learns_for_how_long(origin: MockOrigin) -> None:
    origin.use({"fault": "429;retry_after=7s"})
    clock = FakeClock()
    async with proxying(region(origin, "a"), clock=clock) as proxy:
        first = await ask_chat(proxy)
        clock.advance(2)
        second = await ask_chat(proxy)
        clock.advance(6)
        origin.use({})
        third = await ask_chat(proxy)
    assert (first.status_code, first.headers["retry-after"]) == (429, "7")
    assert (second.status_code, second.headers["retry-after"]) == (429, "5")
    assert second.json()["error"]["code"] == "regions_resting"
    assert third.status_code == 200


async def test_a_429_without_a_time_refuses_nobody(origin: MockOrigin) -> None:
    origin.use({"rules": [{"when": {"nth": 1}, "fault": "429"}]})
    async with proxying(region(origin, "a"), cache=MEMORY) as proxy:
        assert (await ask_chat(proxy)).status_code == 429
        assert (await ask_chat(proxy)).status_code == 200


async def test_one_clients_own_quota_is_nobody_elses(origin: MockOrigin) -> None:
    rule = {"when": {"headers": {"authorization": "Bearer poor*"}}, "fault": "429;retry_after=60s"}
    origin.use({"rules": [rule]})
    async with proxying(region(origin, "a", passthrough=True)) as proxy:
        poor = [await proxy.post("/v1/chat/completions", chat(), authorization="Bearer poor-key") for _ in range(2)]
        rich = await proxy.post("/v1/chat/completions", chat(), authorization="Bearer rich-key")
    assert [p.status_code for p in poor] == [429, 429]
    assert rich.status_code == 200
    assert origin.count == 2


async def test_an_old_answer_stands_in_when_every_region_is_down_and_says_so(make_origin: Make) -> None:
    a = await make_origin()
    clock = FakeClock()
    cache = Cache(disk=None, memory=Memory(), ttl=60.0, stale_if_error=3600.0)
    async with proxying(region(a, "a"), region(DEAD, "b"), cache=cache, clock=clock) as proxy:
        fresh = await ask_chat(proxy)
        clock.advance(120)
        a.use({"fault": "503"})
        stale = await ask_chat(proxy)
        a.use({"fault": "404"})
        refused = await ask_chat(proxy)
    assert text_of(stale) == text_of(fresh)
    assert stale.headers["x-edgeinf-cache"] == "stale"
    assert "fwd=stale" in stale.headers["cache-status"]
    assert refused.status_code == 404


async def test_a_full_region_is_passed_over_then_waited_for(make_origin: Make) -> None:
    a, b = await make_origin({"ttft": "100ms"}), await make_origin({"ttft": "100ms"})
    async with proxying(region(a, "a", max_concurrency=2), region(b, "b", max_concurrency=1)) as proxy:
        got = await asyncio.gather(*(ask_chat(proxy, f"{n}") for n in range(9)))
    assert {r.status_code for r in got} == {200}
    assert (a.peak, b.peak) == (2, 1)


async def test_no_room_in_time_is_503(origin: MockOrigin) -> None:
    origin.use({"fault": "stall;after=0"})
    quick = Timeouts(connect=1.0, ttft=0.3, idle=5.0, total=20.0)
    async with proxying(region(origin, "a", max_concurrency=1, timeouts=quick)) as proxy:
        held = asyncio.create_task(ask_chat(proxy, "first"))
        await origin.until_calls(1)
        got = await ask_chat(proxy, "second")
        origin.release()
        await held
    assert (got.status_code, got.json()["error"]["code"]) == (503, "regions_full")


async def test_a_client_that_leaves_gives_its_place_back(origin: MockOrigin) -> None:
    origin.use({"rules": [{"when": {"nth": 1}, "fault": "stall;after=0"}]})
    async with proxying(region(origin, "a", max_concurrency=1)) as proxy:
        held = asyncio.create_task(ask_chat(proxy, "first"))
        await origin.until_calls(1)
        held.cancel()
        await origin.until_idle(within_s=5)
        got = await ask_chat(proxy, "second")
    assert got.status_code == 200


async def test_after_the_cooldown_exactly_one_of_many_calls_is_the_trial(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "500"}), await make_origin()
    clock = FakeClock()
    routing = Routing(strategy="priority", health=Health(cooldown=5.0))
    async with proxying(region(a, "a"), region(b, "b"), routing=routing, clock=clock) as proxy:
        for number in range(5):
            await ask_chat(proxy, f"{number}")
        opened = a.count
        await ask_chat(proxy, "left out")
        left_out = a.count
        clock.advance(5.1)
        a.use({"fault": ["500", "slow-headers;by=1s"]})  # so that the trial is still out when the others come
        await asyncio.gather(*(ask_chat(proxy, f"burst {n}") for n in range(50)))
        tried = a.count
        clock.advance(4.9)
        await asyncio.gather(*(ask_chat(proxy, f"early {n}") for n in range(5)))
        fresh_deadline = a.count
        a.use({"ttft": "50ms"})
        clock.advance(0.2)
        got = await asyncio.gather(*(ask_chat(proxy, f"back {n}") for n in range(50)))
    assert (opened, left_out, tried, fresh_deadline) == (5, 5, 6, 6)
    assert 7 <= a.count < 40  # one trial, then a growing share
    assert {r.status_code for r in got} == {200}


async def test_the_clients_credential_goes_to_no_other_host_on_failover(make_origin: Make) -> None:
    a, b, c = await make_origin({"fault": "500"}), await make_origin(), await make_origin()
    regions = (region(a, "a", passthrough=True), region(b, "b", passthrough=True), region(c, "c"))
    async with proxying(*regions) as proxy:
        got = await proxy.post("/v1/chat/completions", chat(), authorization="Bearer client-secret")
    assert got.headers["x-edgeinf-region"] == "c"
    assert a.calls[0].headers["authorization"] == "Bearer client-secret"
    assert b.count == 0
    assert "authorization" not in c.calls[0].headers
    assert MASK not in got.text


async def test_a_redirect_is_not_followed_and_no_credential_leaves(make_origin: Make) -> None:
    sink = await make_origin()
    a = await make_origin({"fault": f"redirect;to={sink.url};status=307"})
    async with proxying(region(a, "a", passthrough=True)) as proxy:
        got = await proxy.post("/v1/chat/completions", chat(), authorization="Bearer k", x_api_key="k2")
    assert (got.status_code, got.json()["error"]["code"]) == (502, "origin_redirect")
    assert sink.count == 0


@pytest.mark.parametrize("fault", ["slow-headers;by=60s", "stall;after=0", "stall;tokens=3"])
@pytest.mark.parametrize("regions", [1, 2])
async def test_a_client_that_leaves_closes_the_origins_connection_within_a_second(
    make_origin: Make, fault: str, regions: int
) -> None:
    a, b = await make_origin({"fault": fault}), await make_origin()
    async with proxying(*[region(a, "a"), region(b, "b")][:regions]) as proxy:
        task = asyncio.create_task(ask_chat(proxy, stream=True))
        await a.until_calls(1)
        await asyncio.sleep(0.1)
        task.cancel()
        await a.until_idle(within_s=1.0)
    assert a.calls[0].outcome == "disconnected"
    assert b.count == 0


async def test_a_cut_responses_stream_ends_with_the_error_its_sdk_raises_on(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "cut;tokens=3", "tpot": "10ms"}), await make_origin()
    seen: list[str] = []

    async def read(client: openai.AsyncOpenAI) -> None:
        stream = await client.responses.create(model="m", input="hi", stream=True)
        async for event in stream:
            seen.append(event.type)

    async with proxying(region(a, "a"), region(b, "b")) as proxy:
        client = openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0)
        with pytest.raises(openai.APIError, match="region 'b' is next"):
            await read(client)
        await client.close()
    assert "response.output_text.delta" in seen
    assert "response.completed" not in seen
    assert b.count == 0
