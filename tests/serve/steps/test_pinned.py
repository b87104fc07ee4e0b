"""Responses that the origin stores: one account's, replayed under their own id, gone when they are deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from edgeinf.core.config.schema import Cache, Disk, Routing
from edgeinf.mock import MockOrigin
from tests.serve.proxying import Proxy, proxying, region

ONE = {"authorization": "Bearer sk-one-0123456789"}


async def _respond(proxy: Proxy, text: str = "hi", **fields: Any) -> httpx.Response:
    answer = await proxy.client.post("/v1/responses", json={"model": "m", "input": text, **fields}, headers=ONE)
    assert answer.status_code == 200, answer.text
    return answer


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_a_deleted_response_is_no_longer_served(stream: bool, origin: MockOrigin, proxy: Proxy) -> None:
    await _respond(proxy, stream=stream)
    first = (await _respond(proxy)).json()
    assert origin.count == 1
    unknown = await proxy.client.delete("/v1/responses/resp_of_nobody", headers=ONE)
    assert unknown.status_code == 404
    assert (await _respond(proxy)).headers["x-edgeinf-cache"] == "hit"
    gone = await proxy.client.delete(f"/v1/responses/{first['id']}", headers=ONE)
    assert gone.json()["deleted"] is True
    again = await _respond(proxy)
    assert again.headers["x-edgeinf-cache"] == "miss"
    assert again.json()["id"] != first["id"]


async def test_a_response_of_an_earlier_process_is_forgotten_as_well(origin: MockOrigin, tmp_path: Path) -> None:
    kept = Cache(disk=Disk(path=tmp_path / "cache"))
    async with proxying(region(origin, "r", passthrough=True), cache=kept) as proxy:
        first = (await _respond(proxy)).json()
    async with proxying(region(origin, "r", passthrough=True), cache=kept) as proxy:
        assert (await _respond(proxy)).headers["x-edgeinf-cache"] == "hit"
        await proxy.client.delete(f"/v1/responses/{first['id']}", headers=ONE)
        assert (await _respond(proxy)).headers["x-edgeinf-cache"] == "miss"


async def test_stored_and_unstored_are_two_questions_and_each_is_replayed_with_its_id(
    origin: MockOrigin, proxy: Proxy
) -> None:
    stored, unstored = (await _respond(proxy)).json(), (await _respond(proxy, store=False)).json()
    assert origin.count == 2
    assert (await _respond(proxy)).json()["id"] == stored["id"]
    assert (await _respond(proxy, store=False)).json()["id"] == unstored["id"]
    assert origin.count == 2


async def test_another_account_of_the_same_group_starts_cold(origin: MockOrigin, tmp_path: Path) -> None:
    """A changed credential leaves other answers warm, but not those that only the old account knows by id."""
    kept = Cache(disk=Disk(path=tmp_path / "cache"))
    for key, expected in (("sk-a-0123456789", 2), ("sk-b-0123456789", 3), ("sk-b-0123456789", 3)):
        async with proxying(region(origin, "r", api_key=_secret(key)), cache=kept) as proxy:
            await _respond(proxy)
            await _respond(proxy, store=False)
        assert origin.count == expected


async def test_what_follows_on_a_hit_goes_to_the_region_that_has_it(make_origin: Any, tmp_path: Path) -> None:
    east, west = await make_origin({"name": "east"}), await make_origin({"name": "west"})
    kept = Cache(disk=Disk(path=tmp_path / "cache"))
    regions = [region(east, "east", api_key=_secret("sk-east")), region(west, "west", api_key=_secret("sk-west"))]
    routing = Routing(strategy="priority")
    east.use({"name": "east", "rules": [{"when": {"nth": 1}, "fault": "503"}]})
    async with proxying(*regions, cache=kept, routing=routing) as proxy:
        answer = await _respond(proxy)
        assert answer.headers["x-edgeinf-region"] == "west"
    async with proxying(*regions, cache=kept, routing=routing) as proxy:
        hit = await _respond(proxy)
        assert hit.headers["x-edgeinf-cache"] == "hit"
        followed = await _respond(proxy, "and then?", previous_response_id=hit.json()["id"])
        assert followed.headers["x-edgeinf-region"] == "west"
        read = await proxy.client.get(f"/v1/responses/{hit.json()['id']}", headers=ONE)
        assert read.json()["id"] == hit.json()["id"]


def _secret(text: str) -> Any:
    from pydantic import SecretStr

    return SecretStr(text)
