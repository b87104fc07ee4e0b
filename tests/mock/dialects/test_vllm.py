"""What inference servers offer beside the API."""

from __future__ import annotations

import asyncio

import pytest

from edgeinf.mock import MockOrigin
from edgeinf.mock.dialects.vllm import METRICS
from tests.mock.http_client import ask, chat


@pytest.mark.parametrize("server", METRICS)
async def test_load_is_told_in_the_names_of_each_server(origin: MockOrigin, server: str) -> None:
    origin.use({"answer": {"server": server, "queue": 0.75, "waiting": 4}})
    text = (await ask(origin, "/metrics")).body.decode()

    found = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    values = [found.get(f'{name}{{model_name="mock-small"}}') for name in METRICS[server]]
    assert values == ["1", "4", None if METRICS[server][2] is None else "0.75"]


async def test_running_requests_are_the_ones_in_flight(origin: MockOrigin) -> None:
    origin.use({"rules": [{"when": {"path": "/v1/*"}, "fault": "stall;at=headers"}]})
    asked = [asyncio.create_task(ask(origin, "/v1/chat/completions", chat())) for _ in range(3)]
    await origin.until_calls(3)

    text = (await ask(origin, "/metrics")).body.decode()

    assert 'num_requests_running{model_name="mock-small"} 4' in text
    origin.release()
    await asyncio.gather(*asked)


async def test_an_adapter_is_loaded_once_listed_served_and_unloaded(origin: MockOrigin) -> None:
    origin.use({"strict_models": True, "models": ["base"]})
    adapter = {"lora_name": "support", "lora_path": "/models/support"}
    before = (await ask(origin, "/v1/chat/completions", chat(model="support"))).status
    loads = [(await ask(origin, "/v1/load_lora_adapter", adapter)).status for _ in range(2)]
    served = (await ask(origin, "/v1/chat/completions", chat(model="support"))).status
    listed = [row["id"] for row in (await ask(origin, "/v1/models")).json["data"]]
    unloads = [(await ask(origin, "/v1/unload_lora_adapter", adapter)).status for _ in range(2)]

    assert (before, loads, served, unloads) == (404, [200, 400], 200, [200, 404])
    assert listed == ["base", "support"]
    assert (await ask(origin, "/v1/load_lora_adapter", {})).status == 400
