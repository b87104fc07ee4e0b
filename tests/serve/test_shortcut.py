"""A hit is the same whichever way it goes: status, headers, body, event, and what it is charged."""

from __future__ import annotations

import json
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
import pytest_asyncio

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import (
    AnswerRules,
    Cache,
    Clients,
    DenyRule,
    Guard,
    Limit,
    Listen,
    PromptRule,
)
from edgeinf.mock import MockOrigin
from tests.serve.callers import auth_for, bearer
from tests.serve.proxying import chat
from tests.serve.short import SHAPES, Ways, both_ways, one_way, plain, same, send
from tests.serve.wire import post, wired

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def own(request: pytest.FixtureRequest) -> int:
    """A number of the test's own, to ask what no other asks."""
    return zlib.crc32(request.node.name.encode())


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock()


@pytest_asyncio.fixture(loop_scope="module")
async def origin() -> AsyncIterator[MockOrigin]:
    async with MockOrigin() as own:
        yield own


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def ways(clock: FakeClock) -> AsyncIterator[Ways]:
    """Both ways as they are by default. Tests that share them ask questions of their own."""
    guard = Guard(clients=Clients(deny_user_agent=("edgeinf-denied",)))
    async with MockOrigin() as shared, both_ways(shared, clock=clock, guard=guard) as running:
        yield running


@SHAPES
async def test_a_hit_is_the_same_both_ways(ways: Ways, own: int, path: str, body: dict[str, Any]) -> None:
    request = post({**body, "seed": own}, path=path)
    calls, short = len(ways.origin.calls), ways.short.short
    answers = [await same(ways, request) for _ in range(3)]
    assert [answer.header("x-edgeinf-cache") for answer in answers] == ["miss", "hit", "hit"]
    assert ways.short.short >= short + 1
    assert answers[1].body == answers[2].body
    assert len(ways.origin.calls) == calls + 2


@SHAPES
async def test_one_entry_serves_both_shapes_on_the_short_way(
    ways: Ways, own: int, path: str, body: dict[str, Any]
) -> None:
    body = {**body, "seed": own}
    other = {**body, "stream": not body.get("stream", False)}
    if path == "/v1/embeddings":
        other = {**body, "encoding_format": "float"}
    calls, short = len(ways.origin.calls), ways.short.short
    await same(ways, post(body, path=path))
    answers = [await same(ways, post(other, path=path)) for _ in range(3)]
    assert len({answer.body for answer in answers}) == 1
    assert {answer.header("x-edgeinf-cache") for answer in answers} == {"hit"}
    assert ways.short.short >= short + 1
    assert len(ways.origin.calls) == calls + 2


@pytest.mark.parametrize(
    "headers",
    [
        [("cache-control", "no-cache")],
        [("cache-control", "no-store")],
        [("cache-control", "max-age=0")],
        [("cache-control", "max-age=5")],
        [("cache-control", "max-age=500")],
        [("cache-control", "only-if-cached")],
        [("cache-control", "max-age=nonsense")],
        [("cache-control", "no-cache"), ("cache-control", "only-if-cached")],
        [("x-edgeinf-ttl", "5s")],
        [("x-edgeinf-ttl", "500s")],
        [("x-edgeinf-ttl", "for ever")],
        [("x-edgeinf-normalize", "exact")],
        [("x-edgeinf-normalize", "loose")],
        [("x-edgeinf-normalize", "none")],
        [("x-edgeinf-namespace", "other")],
        [("x-edgeinf-sample", "3")],
        [("x-edgeinf-session", "s"), ("x-edgeinf-route", "r")],
        [("traceparent", f"00-{'a' * 32}-{'b' * 16}-01")],
        [("openai-beta", "x")],
        [("content-encoding", "identity")],
        [("origin", "http://evil.example")],
        [("origin", "http://[")],
        [("origin", "null")],
        [("sec-fetch-site", "cross-site")],
        [("authorization", "Bearer another")],
        [("user-agent", "edgeinf-denied/1")],
        [("x-forwarded-for", "192.0.2.7")],
        [("connection", "close")],
        [("upgrade", "h2c"), ("connection", "upgrade")],
        [("x-odd", "caf\xe9 \xff")],
    ],
    ids=lambda pairs: ",".join(f"{n}={v}" for n, v in pairs).encode("ascii", "replace").decode(),
)
async def test_what_a_header_asks_for_is_the_same_both_ways(
    ways: Ways, clock: FakeClock, headers: list[tuple[str, str]]
) -> None:
    question = chat(repr(headers))
    for _ in range(2):
        await same(ways, post(question))
    clock.advance(60)
    request = post(question, headers=headers)
    if any(name in ("origin", "sec-fetch-site") for name, _ in headers):
        async with wired(ways.short.url) as a, wired(ways.long.url) as b:
            for wire in (a, b):
                await wire.send(request)
            answer = await a.answer()
            assert plain(answer) == plain(await b.answer())
        assert answer.status == 403
        return
    for _ in range(3):
        await same(ways, request)


async def test_the_short_way_knows_an_entry_that_has_expired(origin: MockOrigin) -> None:
    clock = FakeClock()
    async with both_ways(origin, clock=clock, cache=Cache(disk=None, ttl=100.0, ttl_jitter=0.0)) as ways:
        for _ in range(3):
            answer = await same(ways, post(chat()))
        assert (answer.header("x-edgeinf-cache"), ways.short.short) == ("hit", 1)
        clock.advance(99.5)
        answer = await same(ways, post(chat()))
        assert (answer.header("x-edgeinf-cache"), answer.header("age")) == ("hit", "99")
        clock.advance(0.6)
        answer = await same(ways, post(chat()))
        assert answer.header("x-edgeinf-cache") == "miss"


async def test_an_entry_without_end_can_be_said(origin: MockOrigin) -> None:
    """``ttl: inf`` is allowed; no header can hold that number."""
    async with both_ways(origin, clock=FakeClock(), cache=Cache(disk=None, ttl=float("inf"))) as ways:
        answers = [await same(ways, post(chat())) for _ in range(3)]
        assert [answer.status for answer in answers] == [200, 200, 200]
        assert answers[-1].header("x-edgeinf-cache") == "hit"
        assert "ttl=2147483648;" in answers[-1].header("cache-status")


LIMITS = {
    "requests": Limit(name="each", per="key", requests=(4, 60.0)),
    "hits are free": Limit(name="each", per="key", requests=(4, 60.0), count_hits="none"),
    "all": Limit(name="each", per="key", requests=(4, 60.0), tokens=(100_000, 60.0), count_hits="all"),
    "tokens": Limit(name="each", per="key", tokens=(100_000, 60.0)),
    "concurrency": Limit(name="each", per="key", concurrency=1, count_hits="all"),
    "session": Limit(name="each", per="session", requests=(4, 60.0)),
    "address": Limit(name="each", per="ip", requests=(4, 60.0)),
    "budget": Limit(name="each", per="key", requests=(4, 60.0), match=None, count_hits="requests"),
}


@pytest.mark.parametrize("limit", LIMITS.values(), ids=LIMITS.keys())
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_hit_is_charged_once_and_says_so_both_ways(origin: MockOrigin, limit: Limit, stream: bool) -> None:
    clock = FakeClock()
    more = {"auth": auth_for("anna", "ben"), "limits": (limit,)}
    request = post(chat(stream=stream), headers=bearer("anna").items())
    async with both_ways(origin, clock=clock, **more) as ways:
        statuses = [(await same(ways, request)).status for _ in range(7)]
        assert set(statuses) <= {200, 429}
        if limit.requests is not None and limit.count_hits != "none":
            assert statuses == [200] * 4 + [429] * 3
        other = await same(ways, post(chat(stream=stream), headers=bearer("ben").items()))
        assert other.status == (429 if limit.per == "ip" else 200)
        clock.advance(61)
        assert (await same(ways, request)).status == 200
        assert ways.short.runtime.rejections == ways.long.runtime.rejections


async def test_who_may_not_ask_is_refused_the_same_both_ways(origin: MockOrigin) -> None:
    auth = auth_for("anna", "ben", old={"expires": date(2020, 1, 1)}, narrow={"models": ("other",)}, mate={"team": "t"})
    cache = Cache(disk=None, scope="shared")
    async with both_ways(origin, auth=auth, cache=cache, clock=FakeClock()) as ways:
        for _ in range(3):
            await same(ways, post(chat(), headers=bearer("anna").items()))
        assert ways.short.short == 1
        shared = await same(ways, post(chat(), headers=bearer("ben").items()))
        assert shared.header("x-edgeinf-cache") == "hit"
        statuses = {
            name: (await same(ways, post(chat(), headers=bearer(name).items()))).status
            for name in ("old", "narrow", "nobody", "mate")
        }
        assert statuses == {"old": 401, "narrow": 403, "nobody": 401, "mate": 200}
        assert (await same(ways, post(chat()))).status == 401


async def test_a_key_that_is_taken_away_gets_no_hit(origin: MockOrigin) -> None:
    from edgeinf.serve.reload import apply_config

    async with one_way(origin, auth=auth_for("anna", "ben"), clock=FakeClock()) as way:
        request = post(chat(), headers=bearer("anna").items())
        answers = [(await send(way, request))[0] for _ in range(3)]
        assert [a.header("x-edgeinf-cache") for a in answers] == ["miss", "hit", "hit"]
        assert way.short == 1
        assert apply_config(way.runtime, replace(way.runtime.generation.config, auth=auth_for("ben"))) is None
        answer, event = await send(way, request)
        assert (answer.status, event.status, event.cache) == (401, 401, "bypass")


async def test_what_the_guard_found_is_said_of_every_repeat(origin: MockOrigin) -> None:
    guard = Guard(deny=(DenyRule(pattern="forbidden"), DenyRule(pattern="doubtful", action="flag")))
    async with both_ways(origin, guard=guard, clock=FakeClock()) as ways:
        for text, status in (("forbidden", 403), ("doubtful", 200), ("plain", 200)):
            for _ in range(3):
                answer = await same(ways, post(chat(text)))
                assert answer.status in (status, 400)
                assert (ways.short.events[-1].guard is None) == (text == "plain")


@pytest.mark.parametrize(
    "rules",
    [
        AnswerRules(header="before\n", footer="\nafter"),
        AnswerRules(strip=("reasoning",)),
        AnswerRules(deny=(DenyRule(pattern="secret"),)),
        AnswerRules(deny=(DenyRule(pattern="secret", action="flag"),)),
        AnswerRules(redact=("email",)),
    ],
    ids=["around", "strip", "block", "flag", "redact"],
)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_answer_rules_hold_on_the_short_way(origin: MockOrigin, rules: AnswerRules, stream: bool) -> None:
    script = {"answer": {"text": "a secret of ann@example.com", "reasoning": 3}}
    async with both_ways(origin, script=script, answer=rules, clock=FakeClock()) as ways:
        for asked in (stream, stream, not stream, stream, stream):
            await same(ways, post(chat(stream=asked)))


async def test_prompt_rules_that_read_a_header_tell_hits_apart(origin: MockOrigin) -> None:
    from edgeinf.core.config.schema import Message

    rule = PromptRule(prepend=(Message(role="system", content="speak {{header:x-tongue}}"),))
    async with both_ways(origin, prompt=(rule,), clock=FakeClock()) as ways:
        for tongue in ("finnish", "welsh", "finnish", "welsh"):
            for _ in range(2):
                await same(ways, post(chat(), headers=[("x-tongue", tongue)]))
        assert len(origin.calls) == 4
        assert {json.loads(c.body)["messages"][0]["content"] for c in origin.calls} == {"speak finnish", "speak welsh"}
        assert ways.short.short > 0


async def test_a_reload_ends_what_the_short_way_knows(origin: MockOrigin) -> None:
    from edgeinf.serve.reload import apply_config

    async with one_way(origin, clock=FakeClock()) as way:
        for _ in range(3):
            await send(way, post(chat()))
        assert way.short == 1
        changed = replace(way.runtime.generation.config, answer=AnswerRules(header="from now on: "))
        assert apply_config(way.runtime, changed) is None
        answer, _ = await send(way, post(chat()))
        assert answer.json["choices"][0]["message"]["content"].startswith("from now on: ")


async def test_a_paced_replay_is_not_cut_short(origin: MockOrigin) -> None:
    async with one_way(origin, cache=Cache(disk=None, replay="paced")) as way:
        for _ in range(3):
            await send(way, post(chat(stream=True)))
        assert way.short == 0


async def test_a_body_over_the_limit_that_a_reload_set_is_refused(origin: MockOrigin) -> None:
    from edgeinf.serve.reload import apply_config

    async with one_way(origin) as way:
        request = post(chat("x" * 2000))
        for _ in range(3):
            await send(way, request)
        assert way.short == 1
        changed = replace(way.runtime.generation.config, listen=Listen(max_body=1000))
        assert apply_config(way.runtime, changed) is None
        async with wired(way.url) as wire:
            await wire.send(request)
            assert (await wire.answer()).status == 413
