"""The mock's own paths."""

from __future__ import annotations

import asyncio

import pytest

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask, chat


async def test_calls_are_told_with_counts_and_without_credentials(origin: MockOrigin) -> None:
    await ask(origin, "/v1/chat/completions", chat(), headers={"Authorization": "Bearer very-secret"})
    await ask(origin, "/v1/models")

    told = await ask(origin, "/_mock/calls")

    assert (told.json["total"], told.json["paths"]) == (2, {"/v1/chat/completions": 1, "/v1/models": 1})
    assert told.json["calls"][0]["outcome"] == "done"
    assert b"very-secret" not in told.body
    assert origin.calls[0].headers["authorization"] == "Bearer very-secret"
    assert len((await ask(origin, "/_mock/calls?details=1")).json["calls"]) == 1
    assert (await ask(origin, "/_mock/calls?details=0")).json["calls"] == []


async def test_reset_forgets_and_script_changes(origin: MockOrigin) -> None:
    await ask(origin, "/v1/models")
    await ask(origin, "/_mock/script", b"fault: '503'\n")
    refused = await ask(origin, "/v1/models")
    await ask(origin, "/_mock/reset", b"")

    assert refused.status == 503
    assert origin.calls == []
    await ask(origin, "/_mock/script", b"")
    assert (await ask(origin, "/v1/models")).status == 200


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/_mock/script", b"ttftt: 1s", 400, "did you mean 'ttft'?"),
        ("/_mock/script", b"a: [", 400, "not YAML"),
        ("/_mock/freeze?for=long", b"", 400, "not a duration"),
        ("/_mock/nothing", b"", 404, "no such path"),
    ],
    ids=["name", "yaml", "duration", "path"],
)
async def test_what_is_not_understood_is_refused(
    origin: MockOrigin, path: str, body: bytes, status: int, said: str
) -> None:
    reply = await ask(origin, path, body, method="POST")

    assert reply.status == status
    assert said in reply.body.decode()


async def test_a_held_answer_is_released_over_http(origin: MockOrigin) -> None:
    origin.use({"fault": "stall;at=headers"})
    held = asyncio.create_task(ask(origin, "/v1/models"))
    await origin.until_calls(1)

    await ask(origin, "/_mock/release", b"")

    assert (await held).status == 200


async def test_a_region_sent_down_over_http_returns_by_itself(origin: MockOrigin) -> None:
    await ask(origin, "/_mock/down?for=100ms", b"")
    with pytest.raises(ConnectionRefusedError):
        await ask(origin, "/v1/models")

    async with asyncio.timeout(10):
        while True:
            try:
                assert (await ask(origin, "/v1/models")).status == 200
                break
            except ConnectionRefusedError:
                await asyncio.sleep(0.01)
