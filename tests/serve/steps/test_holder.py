"""Paths that name what an account holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from edgeinf.core.config.scalar import Secret
from edgeinf.mock import MockOrigin
from tests.serve.proxying import ask_chat, proxying, region

Make = Callable[..., Awaitable[MockOrigin]]


async def test_a_response_is_shown_and_deleted_where_it_was_made(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "503"}), await make_origin()
    regions = (region(a, "a", api_key=Secret("key-a")), region(b, "b", api_key=Secret("key-b")))
    async with proxying(*regions) as proxy:
        made = await proxy.post("/v1/responses", {"model": "m", "input": "hi"})
        a.use({})
        shown = await proxy.client.get(f"/v1/responses/{made.json()['id']}")
        gone = await proxy.client.delete(f"/v1/responses/{made.json()['id']}")
        unknown = await proxy.client.get("/v1/responses/resp_unknown")
    assert made.headers["x-edgeinf-region"] == "b"
    assert (shown.status_code, gone.status_code) == (200, 200)
    assert unknown.headers["x-edgeinf-region"] == "a"


async def test_a_path_without_a_name_goes_to_the_first_region_in_use(make_origin: Make) -> None:
    a, b = await make_origin({"fault": "500"}), await make_origin()
    async with proxying(region(a, "a"), region(b, "b")) as proxy:
        for number in range(5):
            await ask_chat(proxy, f"{number}")
        got = await proxy.post("/v1/moderations", {"input": "hi"})
    assert (got.status_code, got.headers["x-edgeinf-region"]) == (200, "b")
