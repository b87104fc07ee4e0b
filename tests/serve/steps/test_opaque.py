"""Paths that no dialect claims: relayed as they are, and moved to another region where that can do no harm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import httpx
import pytest

from edgeinf.core.config.scalar import Secret
from edgeinf.core.config.schema import Cache, Failover, Model, Region, Routing
from edgeinf.mock import MockOrigin
from edgeinf.serve.steps.upload import HOLD
from tests.serve.origin.raw import raw_origin
from tests.serve.proxying import Proxy, ask_chat, proxying, region

Make = Callable[..., Awaitable[MockOrigin]]

COUNT = "/v1/messages/count_tokens"
SPEAK = "/v1/audio/transcriptions"
FORM: dict[str, Any] = {"files": {"file": ("a.wav", b"sound")}, "data": {"model": "w"}}
WORDS: dict[str, Any] = {"json": {"model": "m", "messages": [{"role": "user", "content": "hi"}]}}


def keyed(origin: MockOrigin | str, name: str, key: str = "", **more: Any) -> Region:
    """Return a region with an account of its own, unless ``key`` says whose."""
    return region(origin, name, api_key=Secret(key or f"key-of-{name}"), **more)


async def shown(proxy: Proxy, method: str, path: str, **more: Any) -> tuple[int, str | None]:
    """Ask and return the status and the region that answered."""
    got = await proxy.client.request(method, path, **more)
    return got.status_code, got.headers.get("x-edgeinf-region")


PURE = [
    pytest.param("POST", COUNT, WORDS, id="json"),
    pytest.param("POST", SPEAK, FORM, id="upload"),
    pytest.param("GET", "/v1/echo/voices", {}, id="get"),
    pytest.param("HEAD", "/v1/echo/voices", {}, id="head"),
    pytest.param("GET", "/v1/models", {}, id="models"),
]


@pytest.mark.parametrize(("method", "path", "more"), PURE)
@pytest.mark.parametrize("fault", ["down", "500", "503", "429", "reset"])
async def test_what_only_computes_is_answered_by_the_next_region(
    make_origin: Make, method: str, path: str, more: dict[str, Any], fault: str
) -> None:
    a, b = await make_origin(), await make_origin()
    if fault == "down":
        a.down()
    else:
        a.use({"fault": {"kind": "reset", "at": "headers"} if fault == "reset" else fault})
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        assert await shown(proxy, method, path, **more) == (200, "b")


async def test_the_next_region_gets_the_same_body(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "500"}), await make_origin()
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        assert await shown(proxy, "POST", SPEAK, **FORM) == (200, "b")
    assert a.calls[0].body == b.calls[0].body
    assert b"sound" in b.calls[0].body
    assert b.calls[0].headers["authorization"] == "Bearer key-of-b"


async def test_a_body_too_large_to_be_held_moves_only_before_it_was_sent(make_origin: Make) -> None:
    a, b = await make_origin(), await make_origin()
    big = {"files": {"file": ("a.wav", b"s" * (HOLD + 1))}, "data": {"model": "w"}}
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        a.use({"fault": "500"})
        assert await shown(proxy, "POST", SPEAK, **big) == (500, "a")
        a.down()
        assert await shown(proxy, "POST", SPEAK, **big) == (200, "b")
    assert b"s" * (HOLD + 1) in b.calls[-1].body


async def test_a_body_of_unannounced_length_is_held_as_well(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "503"}), await make_origin()

    async def pieces() -> AsyncIterator[bytes]:
        for piece in (b'{"model":"m",', b'"messages":[]', b"}"):
            yield piece

    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        headers = {"content-type": "application/json"}
        got = await proxy.client.post("/v1/tokenize", content=pieces(), headers=headers)
    assert got.headers["x-edgeinf-region"] == "b"
    assert b.calls[0].body == b'{"model":"m","messages":[]}'


@pytest.mark.parametrize("path", ["/v1/echo", "/v1/files", "/v1/batches"])
async def test_what_may_have_effects_moves_only_where_nothing_was_sent(make_origin: Make, path: str) -> None:
    a, b = await make_origin(), await make_origin()
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        for fault in ("500", "429", {"kind": "reset", "at": "headers"}):
            a.use({"fault": fault})
            status, _ = await shown(proxy, "POST", path, json={"x": 1})
            assert status == {"500": 500, "429": 429}.get(str(fault), 502)
        assert b.count == 0
        a.down()
        assert await shown(proxy, "POST", path, json={"x": 1}) == (200, "b")


async def test_an_upload_is_sent_once_however_often_no_connection_was_made(make_origin: Make) -> None:
    a, b, c = await make_origin(), await make_origin(), await make_origin()
    a.down()
    b.down()
    async with proxying(keyed(a, "a"), keyed(b, "b"), keyed(c, "c")) as proxy:
        assert await shown(proxy, "POST", "/v1/files", files={"file": ("x", b"y" * HOLD)}) == (200, "c")
    assert len(c.calls) == 1


HELD = [
    pytest.param("GET", "/v1/files/{id}", id="file"),
    pytest.param("GET", "/v1/files/{id}/content", id="content"),
    pytest.param("DELETE", "/v1/files/{id}", id="delete"),
    pytest.param("POST", "/v1/batches", id="named-in-the-body"),
    pytest.param("POST", "/v1/tokenize", id="computed-from-what-is-named"),
    pytest.param("GET", "/v1/files/file-of-yesterday", id="unknown"),
    pytest.param("GET", "/v1/files", id="list"),
    pytest.param("DELETE", "/v1/echo/of-yesterday", id="unknown-delete"),
    pytest.param("POST", "/v1/threads/thread_1/messages", id="unknown-post"),
]


@pytest.mark.parametrize("fault", ["down", "503"])
@pytest.mark.parametrize(("method", "path"), HELD)
async def test_what_one_account_holds_is_asked_for_nowhere_else(
    make_origin: Make, method: str, path: str, fault: str
) -> None:
    a, b = await make_origin(), await make_origin()
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        made = await proxy.client.post("/v1/files", files={"file": ("x", b"hello")})
        assert made.headers["x-edgeinf-region"] == "a"
        if fault == "down":
            a.down()
        else:
            a.use({"fault": fault})
        name = made.json()["id"]
        more = {"json": {"input_file_id": name}} if method == "POST" else {}
        status, _ = await shown(proxy, method, path.replace("{id}", name), **more)
    assert status == (502 if fault == "down" else 503)
    assert b.count == 0
    assert b.calls == []


async def test_what_refers_to_something_unknown_stays_with_the_first_account(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "503"}), await make_origin()
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        for path in ("/v1/batches", "/v1/tokenize"):
            assert await shown(proxy, "POST", path, json={"input_file_id": "file-of-yesterday"}) == (503, "a")
    assert b.calls == []


async def test_a_region_of_the_same_account_stands_in_for_reading(make_origin: Make) -> None:
    a, b, c = await make_origin(), await make_origin(), await make_origin()
    async with proxying(keyed(a, "a", "same"), keyed(b, "b"), keyed(c, "c", "same")) as proxy:
        made = await proxy.client.post("/v1/files", files={"file": ("x", b"hello")})
        put = await proxy.client.post(f"{c.url}/v1/files", files={"file": ("x", b"hello")})
        assert put.json()["id"] == made.json()["id"]
        a.use({"fault": "503"})
        assert await shown(proxy, "DELETE", f"/v1/files/{made.json()['id']}") == (503, "a")
        assert await shown(proxy, "GET", f"/v1/files/{made.json()['id']}") == (200, "c")
    assert b.calls == []


async def test_what_names_a_file_goes_to_the_account_that_holds_it(make_origin: Make) -> None:
    a, b = await make_origin(), await make_origin()
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        a.down()
        made = await proxy.client.post("/v1/files", files={"file": ("x", b"hello")})
        await a.up()
        batch = await proxy.client.post("/v1/batches", json={"input_file_id": made.json()["id"], "endpoint": "x"})
    assert (made.headers["x-edgeinf-region"], batch.headers["x-edgeinf-region"]) == ("b", "b")


async def test_the_answer_of_the_last_region_is_passed_on_and_not_to_be_tried_again(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "503"}), await make_origin({"fault": "500"})
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        got = await proxy.post(COUNT, {"model": "m", "messages": []}, anthropic_version="2023-06-01")
    assert got.status_code == 500
    assert got.headers["x-should-retry"] == "false"
    assert got.headers["x-edgeinf-region"] == "b"
    assert "error" in got.json()


async def test_a_region_without_the_path_does_not_stand_in(make_origin: Make) -> None:
    """Another region may not have the path at all; its 404 says nothing of what was asked."""
    a, b = await make_origin({"fault": "503"}), await make_origin()
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        got = await proxy.client.get("/v1/voices")
    assert got.status_code == 503
    assert (len(a.calls), len(b.calls)) == (1, 1)


async def test_what_another_region_lacks_is_not_told_of_something_new(make_origin: Make) -> None:
    a, b = await make_origin(), await make_origin()
    a.down()
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        got = await proxy.post("/v1/threads", {})
    assert (got.status_code, got.json()["error"]["code"]) == (502, "origin_unreachable")


async def test_a_clients_own_fault_is_told_once(make_origin: Make) -> None:
    a, b = await make_origin(), await make_origin()
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        assert await shown(proxy, "GET", "/v1/voices") == (404, "a")
    assert b.calls == []


async def test_a_model_moves_only_to_a_region_that_knows_it_by_the_name_it_was_sent_with(make_origin: Make) -> None:
    a, b, c = await make_origin({"fault": "503"}), await make_origin(), await make_origin()
    models = (Model(name="m", upstream={"a": "m", "b": "m-of-b", "c": "m"}),)
    async with proxying(keyed(a, "a"), keyed(b, "b"), keyed(c, "c"), models=models) as proxy:
        assert await shown(proxy, "POST", "/v1/messages/count_tokens", **WORDS) == (200, "c")


async def test_a_clients_own_credential_goes_to_no_other_host(make_origin: Make) -> None:
    a, b, c = await make_origin({"fault": "503"}), await make_origin(), await make_origin()
    regions = (region(a, "a", passthrough=True), region(b, "b", passthrough=True), keyed(c, "c"))
    async with proxying(*regions) as proxy:
        headers = {"authorization": "Bearer sk-of-the-client"}
        assert await shown(proxy, "GET", "/v1/models", headers=headers) == (200, "c")
    assert b.calls == []
    assert c.calls[0].headers["authorization"] == "Bearer key-of-c"


async def test_the_config_says_what_is_tried_again_and_how_often(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "503"}), await make_origin()
    for failover in (Failover(retry_on=("connect",)), Failover(attempts=1), Failover(retry_budget=0.0)):
        async with proxying(keyed(a, "a"), keyed(b, "b"), routing=Routing(failover=failover)) as proxy:
            assert await shown(proxy, "GET", "/v1/echo") == (503, "a")
    assert b.calls == []


async def test_what_is_kept_of_a_get_is_the_answer_of_the_region_that_gave_it(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "503"}), await make_origin()
    async with proxying(keyed(a, "a"), keyed(b, "b"), cache=Cache(disk=None)) as proxy:
        assert await shown(proxy, "GET", "/v1/models") == (200, "b")
        a.use({})
        again = await proxy.client.get("/v1/models")
    assert again.headers["x-edgeinf-region"] == "a"
    assert again.headers["x-edgeinf-cache"] == "miss"


async def test_what_another_region_gave_is_kept_while_the_first_is_left_out(make_origin: Make) -> None:
    a, b = await make_origin(), await make_origin()
    a.down()
    async with proxying(keyed(a, "a"), keyed(b, "b"), cache=Cache(disk=None)) as proxy:
        for _ in range(6):
            await proxy.client.get("/v1/echo")
        kinds = [(await proxy.client.get("/v1/models")).headers["x-edgeinf-cache"] for _ in range(2)]
    assert kinds == ["miss", "hit"]


async def test_an_answer_that_breaks_off_is_cut_and_not_joined_with_another(make_origin: Make) -> None:
    b = await make_origin()
    head = b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf"

    async def half(origin: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await origin.read_request(reader)
        writer.write(head)
        await writer.drain()
        writer.close()

    async with raw_origin(half) as a, proxying(keyed(a.url, "a"), keyed(b, "b")) as proxy:
        with pytest.raises(httpx.RemoteProtocolError):
            await proxy.client.get("/v1/echo")
    assert b.calls == []


async def test_a_large_error_is_passed_on_as_it_comes(make_origin: Make) -> None:
    b = await make_origin()
    body = b"x" * 400_000
    answer = b"HTTP/1.1 500 Broken\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)
    async with raw_origin(answer) as a, proxying(keyed(a.url, "a"), keyed(b, "b")) as proxy:
        got = await proxy.client.get("/v1/echo")
    assert (got.status_code, got.content) == (500, body)


async def test_a_region_that_is_left_out_is_not_asked_and_one_that_fails_here_is_left_out(make_origin: Make) -> None:
    a, b = await make_origin(), await make_origin()
    a.down()
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        for _ in range(6):
            assert await shown(proxy, "GET", "/v1/echo") == (200, "b")
        states = {r.name: r.state for r in proxy.runtime.regions.report(proxy.runtime.generation.origins)}
        assert states["a"] != "closed"
        assert (await ask_chat(proxy)).headers["x-edgeinf-region"] == "b"


async def test_errors_of_single_paths_do_not_take_a_region_from_everybody(make_origin: Make) -> None:
    a = await make_origin({"rules": [{"when": {"path": "/v1/echo"}, "fault": "500"}]})
    b = await make_origin()
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        for _ in range(12):
            await proxy.client.get("/v1/echo")
        assert (await ask_chat(proxy)).headers["x-edgeinf-region"] == "a"


async def test_a_place_in_a_region_is_given_back_however_it_ends(make_origin: Make) -> None:
    a = await make_origin()
    async with proxying(keyed(a, "a", max_concurrency=1)) as proxy:
        for fault in (None, "500", {"kind": "reset", "at": "headers"}, {"kind": "reset", "at": "body"}):
            a.use({} if fault is None else {"fault": fault})
            try:
                await proxy.client.get("/v1/echo")
            except httpx.HTTPError:
                pass
        a.use({"fault": {"kind": "stall"}})
        with pytest.raises(httpx.HTTPError):
            await proxy.client.get("/v1/models", timeout=0.3)
        a.use({})
        await a.until(lambda: all(s.in_flight == 0 for s in proxy.runtime.regions._states.values()))
        assert await shown(proxy, "GET", "/v1/echo") == (200, "a")


async def test_the_event_names_the_region_that_answered_and_the_attempts(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "503"}), await make_origin()
    events: list[Any] = []
    async with proxying(keyed(a, "a"), keyed(b, "b")) as proxy:
        proxy.runtime.events.put = events.append  # type: ignore[method-assign]
        await proxy.client.get("/v1/echo")
    assert [(e.region, e.attempts, e.status, e.error) for e in events] == [("b", 2, 200, None)]
