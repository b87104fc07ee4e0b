"""Who may ask, and who shares answers with whom."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from edgeinf.core.config.schema import Cache, Config, Region
from edgeinf.mock import MockOrigin
from edgeinf.serve.generation import make_generation
from tests.serve.callers import LONG_AGO, auth_for, bearer, secret
from tests.serve.running import chat, config_for, running

BOTH = ("a", "b")


def front(folder: Path, origin: MockOrigin, **sections: Any) -> Config:
    """Return a config whose one region has a credential of its own."""
    from edgeinf.core.config.scalar import Secret

    region = Region(name="r", url=origin.url, api_key=Secret("sk-origin-0123456789"), serves=("openai", "anthropic"))
    return replace(config_for(folder, origin.url, **sections), regions=(region,))


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        pytest.param({"authorization": ""}, "missing_api_key", id="none"),
        pytest.param({"authorization": "Bearer ek-of-nobody-0123456789"}, "invalid_api_key", id="unknown"),
        pytest.param({"authorization": "Bearer"}, "invalid_api_key", id="scheme-only"),
        pytest.param(bearer("old"), "expired_api_key", id="expired"),
    ],
)
async def test_a_caller_without_a_good_key_gets_401_and_reaches_nothing(
    tmp_path: Path, origin: MockOrigin, headers: dict[str, str], code: str
) -> None:
    config = front(tmp_path, origin, auth=auth_for("a", old={"expires": LONG_AGO}))
    async with running(config) as proxy:
        for path, body in (("/v1/chat/completions", chat()), ("/v1/moderations", {"input": "hi"})):
            answer = await proxy.client.post(path, json=body, headers=headers)
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, code)
            assert answer.headers["www-authenticate"] == "Bearer"
    assert origin.count == 0


async def test_a_cached_answer_is_not_for_whoever_has_no_key(tmp_path: Path, origin: MockOrigin) -> None:
    config = front(tmp_path, origin, auth=auth_for("a"), cache=Cache(disk=None, scope="shared"))
    async with running(config) as proxy:
        assert (await proxy.ask(headers=bearer("a"))).status_code == 200
        assert (await proxy.ask(headers={"authorization": "Bearer ek-stranger-0123456789"})).status_code == 401


async def test_what_a_stranger_sends_is_not_even_read(tmp_path: Path, origin: MockOrigin) -> None:
    async with running(front(tmp_path, origin, auth=auth_for("a"))) as proxy:
        port = int(proxy.url.rsplit(":", 1)[1])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 40000000\r\n"
        writer.write(head + b"authorization: Bearer ek-stranger-0123456789\r\n\r\n{")
        async with asyncio.timeout(20):
            assert b" 401 " in await reader.readline()
        writer.close()


@pytest.mark.parametrize(
    "headers",
    [
        pytest.param(bearer("a"), id="bearer"),
        pytest.param({"authorization": "", "x-api-key": secret("a")}, id="x-api-key"),
        pytest.param({"authorization": "Bearer sk-other-0123456789", "x-api-key": secret("a")}, id="beside-another"),
        pytest.param({"authorization": f"bearer   {secret('a')}"}, id="any-case"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/moderations"])
async def test_a_key_opens_every_dialect_by_either_header_and_never_leaves(
    tmp_path: Path, origin: MockOrigin, headers: dict[str, str], path: str
) -> None:
    async with running(front(tmp_path, origin, auth=auth_for("a"))) as proxy:
        body = {**chat(), "max_tokens": 5, "input": "hi"}
        answer = await proxy.client.post(path, json=body, headers=headers)
        assert answer.status_code == 200
    sent = str(origin.calls[-1].headers)
    assert secret("a") not in sent
    assert "sk-origin-0123456789" in sent


async def test_a_key_does_not_leave_by_a_region_that_passes_credentials_through(
    tmp_path: Path, origin: MockOrigin
) -> None:
    async with running(config_for(tmp_path, origin.url, auth=auth_for("a"))) as proxy:
        await proxy.ask(headers=bearer("a"))
        await proxy.client.get("/v1/models", headers=bearer("a"))
    assert [secret("a") in str(call.headers) for call in origin.calls] == [False, False]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        pytest.param("/v1/chat/completions", "authentication_error", id="openai"),
        pytest.param("/v1/messages", "authentication_error", id="anthropic"),
    ],
)
async def test_a_refusal_has_the_dialects_own_form(tmp_path: Path, origin: MockOrigin, path: str, kind: str) -> None:
    async with running(front(tmp_path, origin, auth=auth_for("a"))) as proxy:
        document = (await proxy.client.post(path, json=chat(), headers={"authorization": "Bearer no"})).json()
    assert document["error"]["type"] == kind
    assert ("type" in document) == (path == "/v1/messages")


SCOPES: list[Any] = [
    pytest.param("key", {}, {}, 2, id="key"),
    pytest.param("shared", {}, {}, 1, id="shared"),
    pytest.param("team", {"team": "acme"}, {"team": "acme"}, 1, id="one-team"),
    pytest.param("team", {"team": "acme"}, {"team": "other"}, 2, id="two-teams"),
    pytest.param("team", {}, {}, 2, id="no-teams"),
    pytest.param("team", {"team": "b"}, {}, 2, id="a-team-that-is-called-as-a-key"),
]


@pytest.mark.parametrize(("scope", "a", "b", "calls"), SCOPES)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_keys_share_answers_as_far_as_the_scope_says(
    tmp_path: Path, origin: MockOrigin, scope: Any, a: dict[str, Any], b: dict[str, Any], calls: int, stream: bool
) -> None:
    config = front(tmp_path, origin, auth=auth_for(a=a, b=b), cache=Cache(disk=None, scope=scope))
    async with running(config) as proxy:
        for name in (*BOTH, *BOTH):
            await proxy.ask(headers=bearer(name), stream=stream)
    assert origin.count == calls


async def test_scope_user_keeps_users_of_one_key_apart_and_leaves_the_nameless_out(
    tmp_path: Path, origin: MockOrigin
) -> None:
    config = front(tmp_path, origin, auth=auth_for("a", "b"), cache=Cache(disk=None, scope="user"))
    async with running(config) as proxy:

        async def seen(key: str, **fields: Any) -> str:
            return (await proxy.ask(headers=bearer(key), **fields)).headers["x-edgeinf-cache"]

        assert [await seen("a", user="u") for _ in range(2)] == ["miss", "hit"]
        assert await seen("a", user="v") == "miss"
        assert await seen("b", user="u") == "miss"
        assert [await seen("a") for _ in range(2)] == ["bypass", "bypass"]


async def test_a_callers_own_cache_names_open_nobody_elses_answers(tmp_path: Path, origin: MockOrigin) -> None:
    config = front(tmp_path, origin, auth=auth_for(*BOTH))
    async with running(config) as proxy:
        for name in BOTH:
            headers = {**bearer(name), "x-edgeinf-namespace": "mine", "x-edgeinf-normalize": "masked"}
            assert (await proxy.ask(headers=headers)).headers["x-edgeinf-cache"] == "miss"


async def test_a_reload_revokes_a_key_at_once_though_its_answers_are_cached(tmp_path: Path, origin: MockOrigin) -> None:
    config = front(tmp_path, origin, auth=auth_for("a", "b"))
    async with running(config) as proxy:
        await proxy.ask(headers=bearer("a"))
        assert (await proxy.ask(headers=bearer("a"))).headers["x-edgeinf-cache"] == "hit"
        proxy.runtime.generation = make_generation(replace(config, auth=auth_for("b")))
        assert (await proxy.ask(headers=bearer("a"))).status_code == 401


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages"])
async def test_a_key_may_use_its_models_only(tmp_path: Path, origin: MockOrigin, path: str) -> None:
    config = front(
        tmp_path, origin, auth=auth_for("b", a={"models": ("small",)}), cache=Cache(disk=None, scope="shared")
    )
    async with running(config) as proxy:

        async def status(key: str, model: str) -> int:
            body = {**chat(), "model": model, "max_tokens": 5}
            return (await proxy.client.post(path, json=body, headers=bearer(key))).status_code

        assert [await status("b", "large"), await status("a", "large"), await status("a", "small")] == [200, 403, 200]
    assert origin.count == 2
