"""Where a call may go at all: accounts, places, and what ties a call to one of them."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from edgeinf.core.clock import FakeClock
from edgeinf.core.config.scalar import Secret
from edgeinf.core.config.schema import Cache, Model, Place, Region, Routing
from edgeinf.core.redact import MASK
from edgeinf.mock import MockOrigin
from tests.serve.proxying import ask_chat, chat, messages, proxying, region

Make = Callable[..., Awaitable[MockOrigin]]


def keyed(origin: MockOrigin, name: str, key: str, **more: Any) -> Region:
    return region(origin, name, api_key=Secret(key), **more)


async def responses(proxy: Any, **body: Any) -> Any:
    return await proxy.post("/v1/responses", {"model": "m", "input": "hi", **body})


async def test_a_follow_up_goes_to_the_account_that_issued_the_response(make_origin: Make) -> None:
    a, b = await make_origin({"name": "a", "fault": "503"}), await make_origin({"name": "b"})
    async with proxying(keyed(a, "a", "key-a"), keyed(b, "b", "key-b")) as proxy:
        first = await responses(proxy)
        a.use({})
        second = await responses(proxy, previous_response_id=first.json()["id"])
        other = await responses(proxy, input="another matter")
    assert first.headers["x-edgeinf-region"] == "b"
    assert second.headers["x-edgeinf-region"] == "b"
    assert other.headers["x-edgeinf-region"] == "a"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_encrypted_reasoning_never_fails_over_to_another_account(make_origin: Make, stream: bool) -> None:
    script = {"answer": {"reasoning": 3}}
    a, b = await make_origin({"name": "a", **script}), await make_origin({"name": "b", **script})
    include = ["reasoning.encrypted_content"]
    async with proxying(keyed(a, "a", "key-a"), keyed(b, "b", "key-b")) as proxy:
        first = await responses(proxy, include=include, store=False)
        items = first.json()["output"]
        assert any("encrypted_content" in item for item in items)
        a.use({"fault": "503"})
        second = await responses(proxy, input=[*items, {"role": "user", "content": "go on"}], stream=stream)
        free = await responses(proxy, input="no state at all", stream=stream)
    assert second.status_code == 503
    assert all(b"encrypted" not in call.body for call in b.calls)
    assert free.headers["x-edgeinf-region"] == "b"


async def test_regions_of_one_account_may_stand_in_for_each_other(make_origin: Make) -> None:
    a, b, c = await make_origin(), await make_origin(), await make_origin()
    regions = (keyed(a, "a", "same"), keyed(b, "b", "other"), keyed(c, "c", "same"))
    async with proxying(*regions) as proxy:
        first = await responses(proxy)
        a.use({"fault": "503"})
        second = await responses(proxy, previous_response_id=first.json()["id"])
    assert first.headers["x-edgeinf-region"] == "a"
    assert second.headers["x-edgeinf-region"] == "c"
    assert b.count == 0


async def test_what_nobody_is_known_to_have_issued_stays_with_one_account(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "503"}), await make_origin()
    async with proxying(keyed(a, "a", "key-a"), keyed(b, "b", "key-b")) as proxy:
        got = await responses(proxy, previous_response_id="resp_of_yesterday")
    assert got.status_code == 503
    assert b.count == 0


async def test_files_are_asked_for_where_they_were_put(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "503"}), await make_origin()
    async with proxying(keyed(a, "a", "key-a"), keyed(b, "b", "key-b")) as proxy:
        for number in range(5):  # the first region is left out
            await ask_chat(proxy, f"{number}")
        a.use({})
        form = {"file": ("x.txt", b"hello")}
        made = await proxy.client.post("/v1/files", files=form, data={"purpose": "assistants"})
        shown = await proxy.client.get(f"/v1/files/{made.json()['id']}/content")
        file = [{"role": "user", "content": [{"type": "input_file", "file_id": made.json()["id"]}]}]
        asked = await responses(proxy, input=file)
    assert made.headers["x-edgeinf-region"] == "b"
    assert (shown.status_code, shown.content) == (200, b"hello")
    assert asked.headers["x-edgeinf-region"] == "b"


async def test_a_path_cannot_smuggle_a_line_into_the_request(make_origin: Make) -> None:
    a = await make_origin()
    async with proxying(region(a, "a")) as proxy:
        got = await proxy.client.get("/v1/files/x%20HTTP/1.1%0d%0aX-Smuggled:%201%0d%0a%0d%0aGET%20/v1/models")
    assert got.status_code in (400, 404)
    assert all("x-smuggled" not in call.headers for call in a.calls)
    assert len(a.calls) <= 1


@pytest.mark.parametrize(
    ("sent", "nearest"),
    [
        ("eu-west-1", "frankfurt"),
        ("sa-east-1", "saopaulo"),
        ("-23.5,-46.6", "saopaulo"),
        ("40.7,-74.0", "virginia"),
        ("nonsense", "virginia"),
        ("999,999", "virginia"),
        (None, "virginia"),
    ],
)
async def test_nearest_goes_by_the_clients_place_else_by_the_nodes_own(
    make_origin: Make, sent: str | None, nearest: str
) -> None:
    places = {"frankfurt": "eu-central-1", "saopaulo": "sa-east-1", "virginia": Place(lat=38.9, lon=-77.4)}
    regions = [region(await make_origin(), name, location=place) for name, place in places.items()]
    routing = Routing(strategy="nearest", client_location_header="X-Client-Region", location="us-east-2")
    headers = {} if sent is None else {"x-client-region": sent}
    async with proxying(*regions, routing=routing) as proxy:
        got = await proxy.post("/v1/chat/completions", chat(), **headers)
    assert got.headers["x-edgeinf-region"] == nearest


@pytest.mark.parametrize("strategy", ["latency", "nearest", "priority", "weighted", "least-loaded"])
async def test_every_strategy_serves_and_survives_a_dead_region(make_origin: Make, strategy: Any) -> None:
    a, b = await make_origin({"fault": "reset;at=headers"}), await make_origin()
    regions = (region(a, "a", location="us-east-1"), region(b, "b", location="eu-west-1"))
    async with proxying(*regions, routing=Routing(strategy=strategy)) as proxy:
        proxy.runtime.regions.rng = random.Random(0)
        got = [await ask_chat(proxy, f"{n}", stream=n % 2 == 0) for n in range(20)]
    assert {r.status_code for r in got} == {200}
    assert {r.headers["x-edgeinf-region"] for r in got} == {"b"}


async def test_a_region_that_is_left_out_and_comes_back_is_said_once_each(
    make_origin: Make, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = await make_origin({"fault": "503"}), await make_origin()
    clock = FakeClock()
    async with proxying(keyed(a, "a", "secret-key"), keyed(b, "b", "other-key"), clock=clock) as proxy:
        for number in range(8):
            await ask_chat(proxy, f"{number}")
        a.use({})
        clock.advance(6)
        await ask_chat(proxy, "back")
    said = [record.getMessage() for record in caplog.records if record.name == "edgeinf.regions"]
    assert len(said) == 2
    assert said[0].startswith("region 'a' is left out for 5 s: ")
    assert said[1] == "region 'a' answers again and is used again"
    assert "secret-key" not in caplog.text


async def test_a_server_without_a_usable_region_is_not_ready_until_one_may_be_tried(make_origin: Make) -> None:
    a = await make_origin({"fault": "500"})
    clock = FakeClock()
    async with proxying(region(a, "a"), clock=clock) as proxy:
        before = await proxy.client.get("/readyz")
        for number in range(5):
            await ask_chat(proxy, f"{number}")
        down = await proxy.client.get("/readyz")
        alive = await proxy.client.get("/healthz")
        clock.advance(6)
        due = await proxy.client.get("/readyz")
    assert [r.status_code for r in (before, down, alive, due)] == [200, 503, 200, 200]


async def test_a_model_goes_only_where_the_config_says(make_origin: Make) -> None:
    a, b = await make_origin(), await make_origin()
    models = (Model(name="only-b", regions=("b",)), Model(name="mapped", upstream={"b": "x"}))
    async with proxying(region(a, "a"), region(b, "b"), models=models) as proxy:
        for name in ("only-b", "mapped", "unheard-of"):
            await ask_chat(proxy, model=name)
    assert [call.json["model"] for call in b.calls] == ["only-b", "x"]
    assert [call.json["model"] for call in a.calls] == ["unheard-of"]


async def test_a_model_that_no_region_serves_is_404(make_origin: Make) -> None:
    a = await make_origin()
    models = (Model(name="claude-only", regions=("a",)),)
    async with proxying(region(a, "a", serves=("openai",)), models=models) as proxy:
        got = await proxy.post("/v1/messages", messages())
    assert (got.status_code, got.json()["error"]["code"]) == (404, "no_region")
    assert MASK not in got.text


async def test_changed_headers_or_names_of_a_region_start_cold(make_origin: Make, tmp_path: Any) -> None:
    from edgeinf.core.config.schema import Disk

    a = await make_origin()
    cache = Cache(disk=Disk(path=tmp_path), memory=None)
    seen = []
    for more in ({}, {}, {"headers": {"X-Effort": "high"}}):
        async with proxying(region(a, "a", **more), cache=cache) as proxy:
            seen.append((await ask_chat(proxy)).headers["x-edgeinf-cache"])
            await proxy.runtime.tiers.flush()
    for upstream in ("llama-1", "llama-2"):
        async with proxying(region(a, "a"), cache=cache, models=(Model(name="m", upstream=upstream),)) as proxy:
            seen.append((await ask_chat(proxy)).headers["x-edgeinf-cache"])
    assert seen == ["miss", "hit", "miss", "miss", "miss"]
    assert a.calls[1].headers["x-effort"] == "high"
