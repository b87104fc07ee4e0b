"""LoRA adapters: checked per region, loaded where that is allowed, part of the key."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from edgeinf.core.config.schema import Adapter, Cache, Memory, Model
from edgeinf.mock import MockOrigin
from tests.serve.proxying import ask_chat, proxying, region

Make = Callable[..., Awaitable[MockOrigin]]


def vllm(*models: str, **more: Any) -> dict[str, Any]:
    return {"models": ["base", *models], "strict_models": True, **more}


def bot(path: str | None = "/models/lora", name: str = "lora") -> Model:
    return Model(name="bot", upstream="base", adapter=Adapter(name=name, path=path))


async def test_an_adapter_is_loaded_once_and_asked_for_by_its_name(make_origin: Make) -> None:
    a = await make_origin(vllm())
    async with proxying(region(a, "a"), models=(bot(),)) as proxy:
        got = await asyncio.gather(*(ask_chat(proxy, f"{n}", model="bot") for n in range(8)))
    assert {r.status_code for r in got} == {200}
    loads = a.calls_to("/load_lora_adapter")
    assert [call.json for call in loads] == [{"lora_name": "lora", "lora_path": "/models/lora"}]
    assert {call.json["model"] for call in a.calls_to("/chat/completions")} == {"lora"}


async def test_an_adapter_that_is_there_is_not_loaded(make_origin: Make) -> None:
    a = await make_origin(vllm("lora"))
    async with proxying(region(a, "a"), models=(bot(),)) as proxy:
        assert (await ask_chat(proxy, model="bot")).status_code == 200
    assert not a.calls_to("/load_lora_adapter")


async def test_a_region_without_the_adapter_is_passed_over_and_not_blamed(make_origin: Make) -> None:
    a, b = await make_origin(vllm()), await make_origin(vllm("lora"))
    async with proxying(region(a, "a"), region(b, "b"), models=(bot(path=None),)) as proxy:
        got = [await ask_chat(proxy, f"{n}", model="bot") for n in range(10)]
        report = proxy.runtime.regions.report(proxy.runtime.generation.origins)[0]
    assert {r.headers["x-edgeinf-region"] for r in got} == {"b"}
    assert (report.state, report.failed) == ("closed", 0)
    assert len(a.calls) == 1  # asked once what it has


async def test_no_region_with_the_adapter_is_503_that_says_so(make_origin: Make) -> None:
    a = await make_origin(vllm())
    async with proxying(region(a, "a"), models=(bot(path=None),)) as proxy:
        got = await ask_chat(proxy, model="bot")
    assert (got.status_code, got.json()["error"]["code"]) == (503, "adapter_missing")
    assert "names no path" in got.json()["error"]["message"]


async def test_a_region_that_lost_its_adapter_gets_it_again(make_origin: Make) -> None:
    a = await make_origin(vllm())
    async with proxying(region(a, "a"), models=(bot(),)) as proxy:
        await ask_chat(proxy, "1", model="bot")
        a._memory.adapters.clear()  # the server was restarted
        lost = await ask_chat(proxy, "2", model="bot")
        again = await ask_chat(proxy, "3", model="bot")
    assert (lost.status_code, again.status_code) == (404, 200)
    assert len(a.calls_to("/load_lora_adapter")) == 2


async def test_another_adapter_is_another_answer(make_origin: Make, tmp_path: Any) -> None:
    from edgeinf.core.config.schema import Disk

    a = await make_origin()
    seen = []
    for path in ("/models/v1", "/models/v1", "/models/v2"):
        cache = Cache(disk=Disk(path=tmp_path), memory=Memory())
        async with proxying(region(a, "a"), models=(bot(path),), cache=cache) as proxy:
            seen.append((await ask_chat(proxy, model="bot")).headers["x-edgeinf-cache"])
            await proxy.runtime.tiers.flush()
    assert seen == ["miss", "hit", "miss"]
