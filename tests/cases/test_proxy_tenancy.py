"""Who may share an answer (P21 to P23)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.schema import Cache, Events
from edgeinf.mock import MockOrigin
from tests.serve.callers import auth_for, bearer
from tests.serve.proxying import Proxy, chat, proxying, region

CHAT, EMBEDDINGS = "/v1/chat/completions", "/v1/embeddings"
EMBEDDED = {"model": "e", "input": ["a", "b"]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param(CHAT, chat(), id="whole"),
        pytest.param(CHAT, chat(stream=True), id="stream"),
        pytest.param(EMBEDDINGS, EMBEDDED, id="embeddings"),
        pytest.param("/v1/moderations", {"model": "m", "input": "x"}, id="moderations"),
        pytest.param("/v1/responses", {"model": "m", "input": "x"}, id="responses"),
    ],
)
@pytest.mark.parametrize(("scope", "calls"), [("key", 2), ("team", 2), ("shared", 1)])
async def test_keys_share_only_within_the_scope(
    path: str, body: dict[str, Any], scope: Any, calls: int, origin: MockOrigin, tmp_path: Path
) -> None:
    log = tmp_path / "events.jsonl"
    auth = auth_for(a={"team": "red"}, b={"team": "blue"}, c={"team": "red"})
    cache = Cache(disk=None, scope=scope)
    async with proxying(region(origin, "r"), cache=cache, auth=auth, events=Events(file=log)) as proxy:
        for who in ("a", "b"):
            answer = await proxy.client.post(path, json=body, headers=bearer(who))
            assert answer.status_code == 200
        assert origin.count == calls
        mate = await proxy.client.post(path, json=body, headers=bearer("c"))
        assert mate.headers["x-edgeinf-cache"] == ("miss" if scope == "key" else "hit")
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [event["key_id"] for event in events] == ["a", "b", "c"]  # each is charged to who asked


async def test_followers_of_another_scope_make_their_own_call(origin: MockOrigin) -> None:
    origin.use({"ttft": "300ms"})
    async with proxying(region(origin, "r"), cache=Cache(disk=None), auth=auth_for("a", "b")) as proxy:
        answers = await asyncio.gather(
            *(proxy.client.post(CHAT, json=chat(stream=True), headers=bearer(who)) for who in "ab")
        )
    assert [answer.headers["x-edgeinf-cache"] for answer in answers] == ["miss", "miss"]
    assert origin.count == 2


async def test_a_name_of_ones_own_opens_nobody_elses_answers(origin: MockOrigin) -> None:
    """P22."""
    async with proxying(region(origin, "r"), cache=Cache(disk=None), auth=auth_for("a", "b")) as proxy:
        for who in ("a", "b"):
            named = {**bearer(who), "x-edgeinf-namespace": "ours", "x-edgeinf-session": "s"}
            answer = await proxy.client.post(CHAT, json=chat(), headers=named)
            assert answer.headers["x-edgeinf-cache"] == "miss"
    assert origin.count == 2


async def test_a_client_may_only_tighten(origin: MockOrigin) -> None:
    """P22: neither a looser level nor a longer life than the config allows."""
    clock = FakeClock()
    cache = Cache(disk=None, ttl=60.0, ttl_jitter=0.0)
    async with proxying(region(origin, "r"), cache=cache, clock=clock) as proxy:
        wide = {"x_edgeinf_normalize": "masked", "x_edgeinf_ttl": "10h"}
        await proxy.post(CHAT, chat("Hello there"), **wide)
        await proxy.post(CHAT, chat("hello there"), **wide)
        assert origin.count == 2
        clock.advance(61)
        await proxy.post(CHAT, chat("Hello there"), **wide)
        assert origin.count == 3
        await proxy.post(CHAT, chat("strict"), x_edgeinf_ttl="10s")
        clock.advance(11)
        assert (await proxy.post(CHAT, chat("strict"))).headers["x-edgeinf-cache"] == "miss"


async def test_samples_and_namespaces_are_kept_apart(origin: MockOrigin, proxy: Proxy) -> None:
    for headers in ({"x_edgeinf_sample": "1"}, {"x_edgeinf_sample": "2"}, {"x_edgeinf_namespace": "n"}, {}):
        assert (await proxy.post(CHAT, chat(), **headers)).headers["x-edgeinf-cache"] == "miss"
        assert (await proxy.post(CHAT, chat(), **headers)).headers["x-edgeinf-cache"] == "hit"
    assert origin.count == 4


async def test_a_stranger_without_a_valid_credential_reads_no_paid_answer(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"api_key": "sk-paid-0123456789"})
    paid = {"authorization": "Bearer sk-paid-0123456789"}
    assert (await proxy.client.post(CHAT, json=chat(), headers=paid)).status_code == 200
    for headers in ({"authorization": "Bearer sk-guess-0123456789"}, {}, {"x-api-key": "sk-paid-0123456789x"}):
        refused = await proxy.client.post(CHAT, json=chat(), headers=headers)
        assert refused.status_code == 401
