"""Limits under real concurrency: nothing slips past, nothing stays taken."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from edgeinf.core.config.schema import Budget, Cache, Limit, Match, Price, Region, Timeouts
from edgeinf.mock import MockOrigin
from tests.serve.callers import auth_for, bearer
from tests.serve.running import Proxy, chat, config_for, running

PER_MINUTE = 60.0
# About 200 tokens each: 100 to read, which the origin says as well, and 100 to write.
READS = " ".join(["word"] * 89)
SIZED = {"answer": {"tokens": 100, "input_tokens": 100}}


def used(proxy: Proxy, name: str) -> float:
    """Return how many slots or calls of a limit are taken."""
    limiter: Any = proxy.runtime.limiter
    return sum(count for (limit, _, _), count in limiter._slots.items() if limit == name)


async def free(proxy: Proxy, name: str) -> None:
    """Wait until no slot of a limit is taken."""
    async with asyncio.timeout(10):
        while used(proxy, name):  # noqa: ASYNC110 - a state of the limiter, not an event
            await asyncio.sleep(0.002)


async def together(proxy: Proxy, count: int, **fields: Any) -> list[httpx.Response]:
    """Ask so many different questions at once."""
    return await asyncio.gather(*(proxy.ask(f"{READS} {n}", **fields) for n in range(count)))


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_twenty_calls_at_once_against_tokens_for_five_let_exactly_five_through(
    tmp_path: Path, origin: MockOrigin, stream: bool
) -> None:
    origin.use({**SIZED, "ttft": "50ms"})
    limits = (Limit(name="tpm", tokens=(1000, PER_MINUTE)),)
    async with running(config_for(tmp_path, origin.url, limits=limits)) as proxy:
        answers = await together(proxy, 20, max_tokens=100, stream=stream)
    assert sorted(answer.status_code for answer in answers) == [200] * 5 + [429] * 15
    assert origin.count == 5


async def test_fifty_calls_at_once_never_run_more_than_the_slots_allow(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"ttft": "100ms"})
    limits = (Limit(name="slots", concurrency=5),)
    async with running(config_for(tmp_path, origin.url, limits=limits)) as proxy:
        answers = await together(proxy, 50)
        await free(proxy, "slots")
    assert origin.peak == 5
    assert [answer.status_code for answer in answers].count(200) == 5


async def test_requests_are_counted_exactly_and_refused_calls_count_for_nothing(
    tmp_path: Path, origin: MockOrigin
) -> None:
    limits = (Limit(name="calls", requests=(7, 3600)), Limit(name="slots", concurrency=100))
    async with running(config_for(tmp_path, origin.url, limits=limits)) as proxy:
        answers = await together(proxy, 30)
        assert [answer.status_code for answer in answers].count(200) == 7
        refused = await proxy.ask("once more")
        limiter: Any = proxy.runtime.limiter
        [(_, arrival)] = limiter._arrivals.items()
        # Seven calls of an hour that holds seven: refused ones have not pushed the end out.
        assert arrival - proxy.runtime.clock.monotonic() <= 3600
        assert 1 <= int(refused.headers["retry-after"]) <= 3600 / 7 + 1
        assert used(proxy, "slots") == 0


async def test_a_call_that_one_limit_refuses_takes_nothing_from_the_others(tmp_path: Path, origin: MockOrigin) -> None:
    limits = (
        Limit(name="roomy", requests=(100, 3600)),
        Limit(name="tight", tokens=(10, 3600)),
        Limit(name="slots", concurrency=3),
    )
    async with running(config_for(tmp_path, origin.url, limits=limits)) as proxy:
        for _ in range(20):
            assert (await proxy.ask(READS, max_tokens=50)).status_code == 429
        limiter: Any = proxy.runtime.limiter
        now = proxy.runtime.clock.monotonic()
        assert all(arrival <= now for arrival in limiter._arrivals.values())
        assert used(proxy, "slots") == 0


# --- a slot is free again after each kind of ending ---

ENDINGS: list[Any] = [
    pytest.param({"fault": "500"}, {}, id="origin-500"),
    pytest.param({"fault": "429;retry_after=1s"}, {}, id="origin-429"),
    pytest.param({"fault": "400"}, {}, id="origin-400"),
    pytest.param({"fault": "reset"}, {}, id="reset"),
    pytest.param({"fault": "cut;after=3"}, {"stream": True}, id="stream-cut"),
    pytest.param({"fault": "stall;after=1"}, {"stream": True}, id="stream-stalls"),
    pytest.param({"ttft": "60s"}, {}, id="timeout"),
    pytest.param({"fault": "malformed"}, {"stream": True}, id="malformed"),
    pytest.param({"fault": "empty-choices"}, {}, id="empty"),
    pytest.param({}, {"stream": True}, id="stream-ends"),
    pytest.param({}, {"messages": "not a list"}, id="our-400"),
    pytest.param({}, {"n": 0}, id="our-400-value"),
]


@pytest.mark.parametrize(("script", "fields"), ENDINGS)
async def test_a_slot_is_free_again_however_a_call_ends(
    tmp_path: Path, origin: MockOrigin, script: dict[str, Any], fields: dict[str, Any]
) -> None:
    limits = (Limit(name="one", concurrency=1), Limit(name="tpm", tokens=(100_000, PER_MINUTE)))
    config = config_for(tmp_path, origin.url, limits=limits)
    timeouts = Timeouts(ttft=0.5, idle=0.5, total=2.0)
    config = replace(config, regions=tuple(replace(region, timeouts=timeouts) for region in config.regions))
    async with running(config) as proxy:
        origin.use(script)
        try:
            await proxy.client.post("/v1/chat/completions", json=chat("first", **fields))
        except httpx.HTTPError:
            pass  # a cut connection is one of the endings
        origin.use(None)
        # The region itself may rest after what happened; the slot must not.
        assert "x-edgeinf-limit" not in (await proxy.ask("second")).headers
        await free(proxy, "one")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_slot_is_free_again_after_a_client_left(tmp_path: Path, origin: MockOrigin, stream: bool) -> None:
    origin.use({"ttft": "10ms", "tpot": "50ms", "answer": {"tokens": 1000}})
    config = config_for(tmp_path, origin.url, limits=(Limit(name="one", concurrency=1),))
    async with running(config) as proxy:
        await leave_early(proxy, origin, stream=stream)
        await free(proxy, "one")
        origin.use(None)
        assert (await proxy.ask("second")).status_code == 200


async def test_a_call_that_runs_on_without_its_client_keeps_its_slot_until_it_ends(
    tmp_path: Path, origin: MockOrigin
) -> None:
    origin.use({"tpot": "20ms", "answer": {"tokens": 60}})
    config = config_for(
        tmp_path,
        origin.url,
        limits=(Limit(name="one", concurrency=1),),
        cache=Cache(disk=None, on_disconnect="finish"),
    )
    async with running(config) as proxy:
        await leave_early(proxy, origin, stream=True)
        await asyncio.sleep(0.1)
        assert origin.active == 1
        assert (await proxy.ask("second")).status_code == 429
        await origin.until_idle()
        await free(proxy, "one")
        assert (await proxy.ask("second")).status_code == 200


async def leave_early(proxy: Proxy, origin: MockOrigin, *, stream: bool) -> None:
    """Ask, and close the connection while the origin is at work."""
    async with httpx.AsyncClient(base_url=proxy.url, trust_env=False) as leaving:
        task = asyncio.create_task(
            leaving.post("/v1/chat/completions", json=chat("first", stream=stream), headers=proxy.client.headers)
        )
        await origin.until(lambda: origin.active == 1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


# --- what is counted ---


async def test_what_was_reserved_is_settled_with_what_was_used(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 10, "input_tokens": 20}})
    limits = (Limit(name="tpm", tokens=(10_000, 3600)),)
    async with running(config_for(tmp_path, origin.url, limits=limits)) as proxy:
        await proxy.ask(READS, max_tokens=4000)
        second = await proxy.ask("another", max_tokens=1)
    left = int(second.headers["x-ratelimit-remaining-tokens"])
    assert 9_700 < left < 10_000 - 30


COUNTING: list[Any] = [
    pytest.param("requests", 3, 30, id="requests"),
    pytest.param("all", 3, 90, id="all"),
    pytest.param("none", 1, 30, id="none"),
]


@pytest.mark.parametrize(("count_hits", "requests", "tokens"), COUNTING)
async def test_hits_count_as_the_limit_says(
    tmp_path: Path, origin: MockOrigin, count_hits: Any, requests: int, tokens: int
) -> None:
    origin.use({"answer": {"tokens": 10, "input_tokens": 20}})
    limit = Limit(name="l", requests=(1000, 3.6e6), tokens=(10_000, 3.6e6), count_hits=count_hits)
    async with running(config_for(tmp_path, origin.url, limits=(limit,))) as proxy:
        for _ in range(3):
            await proxy.ask(max_tokens=50)
        limiter: Any = proxy.runtime.limiter
        now = proxy.runtime.clock.monotonic()
        counted = {kind: (arrival - now) / 3.6e6 for (_, kind, _), arrival in limiter._arrivals.items()}
    assert round(counted["requests"] * 1000) == requests
    assert round(counted["tokens"] * 10_000) == tokens
    assert origin.count == 1


async def test_a_hit_is_served_though_the_tokens_are_used_up(tmp_path: Path, origin: MockOrigin) -> None:
    limits = (Limit(name="tpm", tokens=(300, 3600)),)
    origin.use(SIZED)
    async with running(config_for(tmp_path, origin.url, limits=limits)) as proxy:
        await proxy.ask(READS, max_tokens=100)
        assert (await proxy.ask(READS + " other", max_tokens=100)).status_code == 429
        assert (await proxy.ask(READS, max_tokens=100)).headers["x-edgeinf-cache"] == "hit"


async def test_an_answer_cut_off_by_its_client_is_charged_by_what_arrived(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"ttft": "5ms", "tpot": "5ms", "answer": {"tokens": 2000}})
    limits = (Limit(name="tpm", tokens=(100_000, 3.6e6)),)
    async with running(config_for(tmp_path, origin.url, limits=limits)) as proxy:
        await leave_early(proxy, origin, stream=True)
        await origin.until_idle()
        await asyncio.sleep(0.05)
        limiter: Any = proxy.runtime.limiter
        [arrival] = limiter._arrivals.values()
        spent = (arrival - proxy.runtime.clock.monotonic()) / 3.6e6 * 100_000
    assert 0 < spent < 2000


async def test_a_budget_ends_and_is_charged_what_calls_cost(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 100, "input_tokens": 100}})
    limits = (Limit(name="month", budget=Budget(usd=0.05, period=30 * 86400)),)
    prices = {"mock-small": Price(input=100.0, output=100.0)}  # 0.02 USD a call
    async with running(config_for(tmp_path, origin.url, limits=limits, prices=prices)) as proxy:
        statuses = [(await proxy.ask(f"{READS} {n}", max_tokens=100)).status_code for n in range(4)]
        refused = await proxy.ask(f"{READS} again", max_tokens=100)
        [purse] = proxy.runtime.limiter.purses().values()  # type: ignore[attr-defined]
    assert statuses == [200, 200, 429, 429]
    assert refused.json()["error"]["code"] == "budget_exhausted"
    assert "'month' of 0.05 USD per 30d" in refused.json()["error"]["message"]
    assert purse[1] == pytest.approx(0.04)


async def test_a_hit_costs_nothing_and_says_what_it_saved(tmp_path: Path, origin: MockOrigin) -> None:
    prices = {"mock-small": Price(input=100.0, output=100.0)}
    origin.use({"answer": {"tokens": 100, "input_tokens": 100}})
    async with running(config_for(tmp_path, origin.url, prices=prices)) as proxy:
        for _ in range(2):
            await proxy.ask()
    miss, hit = (json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines())
    assert (miss["usd"], miss["usd_saved"]) == (pytest.approx(0.02), None)
    assert (hit["usd"], hit["usd_saved"]) == (0.0, pytest.approx(0.02))
    assert (hit["input_tokens"], hit["output_tokens"]) == (100, 100)


# --- whose ---


async def test_five_hundred_keys_in_turn_each_keep_their_own_limit(tmp_path: Path, origin: MockOrigin) -> None:
    limits = (Limit(name="two", requests=(2, 3.6e6)),)
    names = [f"k{n}" for n in range(500)]
    async with running(config_for(tmp_path, origin.url, limits=limits, auth=auth_for(*names))) as proxy:
        rounds = [[(await proxy.ask(headers=bearer(name))).status_code for name in names] for _ in range(3)]
    assert rounds == [[200] * 500, [200] * 500, [429] * 500]


SUBJECTS: list[Any] = [
    pytest.param("session", {"x-edgeinf-session": "1"}, {"x-edgeinf-session": "2"}, id="session"),
    pytest.param("header:X-User", {"x-user": "1"}, {"x-user": "2"}, id="header"),
    pytest.param("session", {"x-edgeinf-session": "1"}, {}, id="no-session-is-its-own"),
    pytest.param("key", bearer("a"), bearer("b"), id="key"),
    pytest.param("session", {"x-edgeinf-session": "1"}, {"x-edgeinf-session": "1", **bearer("b")}, id="within-a-key"),
    pytest.param("team", bearer("a"), bearer("b"), id="team"),
]


@pytest.mark.parametrize(("per", "one", "other"), SUBJECTS)
async def test_a_limit_counts_by_what_it_says(
    tmp_path: Path, origin: MockOrigin, per: str, one: dict[str, str], other: dict[str, str]
) -> None:
    auth = auth_for(a={"team": "x"}, b={"team": "y"})
    limits = (Limit(name="one", per=per, requests=(1, 3600)),)
    async with running(config_for(tmp_path, origin.url, limits=limits, auth=auth)) as proxy:
        answers = [await proxy.ask(headers={**bearer("a"), **headers}) for headers in (one, one, other, other)]
    assert [answer.status_code for answer in answers] == [200, 429, 200, 429]


async def test_a_limit_holds_only_for_what_it_matches(tmp_path: Path, origin: MockOrigin) -> None:
    auth = auth_for(a={"team": "acme"}, b={})
    limits = (Limit(name="acme", match=Match(team="acme"), per="team", requests=(1, 3600)),)
    async with running(config_for(tmp_path, origin.url, limits=limits, auth=auth)) as proxy:
        statuses = [(await proxy.ask(str(n), headers=bearer(name))).status_code for n in range(2) for name in "ab"]
    assert statuses == [200, 200, 429, 200]


# --- what is said ---


async def test_a_refusal_names_the_limit_the_key_what_is_used_and_when(tmp_path: Path, origin: MockOrigin) -> None:
    limits = (Limit(name="per-key", requests=(2, 60)),)
    async with running(config_for(tmp_path, origin.url, limits=limits, auth=auth_for("acme-web"))) as proxy:
        answers = [await proxy.ask(str(n), headers=bearer("acme-web")) for n in range(3)]
    passed, refused = answers[0], answers[2]
    assert passed.headers["x-ratelimit-limit-requests"] == "2"
    assert passed.headers["x-ratelimit-remaining-requests"] == "1"
    assert passed.headers["ratelimit-policy"] == '"per-key-requests";q=2;w=60'
    assert refused.status_code == 429
    assert refused.headers["retry-after"].isdigit()
    assert refused.headers["x-edgeinf-limit"] == "per-key"
    assert refused.headers["x-ratelimit-remaining-requests"] == "0"
    message = refused.json()["error"]["message"]
    for part in ("'per-key'", "2 requests per 1m", "key:acme-web", "2 used", "try again in 30 s"):
        assert part in message


async def test_the_limits_of_this_server_are_told_and_not_the_origins(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"headers": {"x-ratelimit-limit-requests": "9999", "x-ratelimit-limit-images": "5"}})
    limits = (Limit(name="l", requests=(10, 60)),)
    async with running(config_for(tmp_path, origin.url, limits=limits)) as proxy:
        answer = await proxy.ask()
    assert answer.headers["x-ratelimit-limit-requests"] == "10"
    assert answer.headers["x-ratelimit-limit-images"] == "5"


async def test_a_call_larger_than_its_limit_is_told_so_and_not_to_try_again(tmp_path: Path, origin: MockOrigin) -> None:
    limits = (Limit(name="tpm", tokens=(100, 60)),)
    async with running(config_for(tmp_path, origin.url, limits=limits)) as proxy:
        answer = await proxy.ask(max_tokens=500)
    assert answer.json()["error"]["code"] == "larger_than_limit"
    assert answer.headers["x-should-retry"] == "false"
    assert "retry-after" not in answer.headers


async def test_limits_hold_on_paths_that_are_relayed_as_they_are(tmp_path: Path, origin: MockOrigin) -> None:
    limits = (Limit(name="l", requests=(1, 3600), concurrency=1),)
    async with running(config_for(tmp_path, origin.url, limits=limits)) as proxy:
        statuses = [(await proxy.client.post("/v1/moderations", json={"input": "x"})).status_code for _ in range(2)]
        assert used(proxy, "l") == 0
    assert statuses == [200, 429]


async def test_a_region_with_a_key_of_its_own_is_no_way_round(tmp_path: Path, origin: MockOrigin) -> None:
    config = config_for(tmp_path, origin.url, limits=(Limit(name="l", requests=(1, 3600)),))
    config = replace(config, regions=(Region(name="r", url=origin.url),))
    async with running(config) as proxy:
        statuses = [(await proxy.ask(str(n), headers={"authorization": ""})).status_code for n in range(2)]
    assert statuses == [200, 429]
