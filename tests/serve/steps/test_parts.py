"""Embeddings: one Key per input, so a request may be answered from the cache in part (P13, P14, P23)."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from edgeinf.core.config.schema import Cache, Events
from edgeinf.mock import MockOrigin
from tests.serve.proxying import Proxy, proxying, region


def _vectors(answer: httpx.Response) -> list[Any]:
    assert answer.status_code == 200, answer.text
    data = answer.json()["data"]
    assert [item["index"] for item in data] == list(range(len(data)))
    return [item["embedding"] for item in data]


async def _embed(proxy: Proxy, value: Any, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
    body = {"model": "e", "input": value, **fields}
    return await proxy.client.post("/v1/embeddings", json=body, headers=headers)


async def _directly(origin: MockOrigin, *texts: str, **fields: Any) -> list[Any]:
    """Return each text's own vector, asked for alone."""
    async with httpx.AsyncClient(base_url=origin.url) as client:
        asked = [{"model": "e", "input": text, **fields} for text in texts]
        answers = [(await client.post("/v1/embeddings", json=body)).json() for body in asked]
    return [answer["data"][0]["embedding"] for answer in answers]


async def test_only_what_is_missing_is_asked_and_each_input_gets_its_own_vector(
    origin: MockOrigin, proxy: Proxy
) -> None:
    own = await _directly(origin, "b", "a", "c")
    origin.reset()
    assert _vectors(await _embed(proxy, ["a"])) == [own[1]]
    answer = await _embed(proxy, ["b", "a", "c"])
    assert _vectors(answer) == own
    assert [call.json["input"] for call in origin.calls] == [["a"], ["b", "c"]]
    assert answer.headers["x-edgeinf-cache"] == "miss"


async def test_each_part_hits_alone_in_any_order_and_as_a_plain_text(origin: MockOrigin, proxy: Proxy) -> None:
    first = _vectors(await _embed(proxy, ["a", "b", "c"]))
    again = await _embed(proxy, ["c", "a", "b"])
    assert _vectors(again) == [first[2], first[0], first[1]]
    assert again.headers["x-edgeinf-cache"] == "hit"
    assert _vectors(await _embed(proxy, "b")) == [first[1]]
    assert origin.count == 1


async def test_a_repeated_input_is_asked_once(origin: MockOrigin, proxy: Proxy) -> None:
    vectors = _vectors(await _embed(proxy, ["a", "a", "b", "a"]))
    assert vectors[0] == vectors[1] == vectors[3] != vectors[2]
    assert origin.calls[-1].json["input"] == ["a", "b"]


async def test_usage_of_a_joined_answer_adds_up(origin: MockOrigin, proxy: Proxy) -> None:
    whole = (await _embed(proxy, ["one text", "another text"])).json()
    joined = (await _embed(proxy, ["another text", "one text"])).json()
    assert joined["usage"] == whole["usage"]
    assert whole["usage"]["prompt_tokens"] > 0


async def test_the_same_text_for_another_model_or_width_is_another_question(origin: MockOrigin, proxy: Proxy) -> None:
    await _embed(proxy, ["a"])
    await _embed(proxy, ["a"], model="f")
    narrow = await _embed(proxy, ["a"], dimensions=4)
    assert [len(vector) for vector in _vectors(narrow)] == [4]
    assert origin.count == 3


async def test_floats_and_base64_are_served_from_one_entry(origin: MockOrigin, proxy: Proxy) -> None:
    floats = _vectors(await _embed(proxy, ["a", "b"], encoding_format="float"))
    packed = _vectors(await _embed(proxy, ["b", "a"], encoding_format="base64"))
    unpacked = [list(struct.unpack(f"<{len(raw) // 4}f", raw)) for raw in map(base64.b64decode, packed)]
    assert unpacked == [pytest.approx(floats[1], rel=1e-6), pytest.approx(floats[0], rel=1e-6)]
    assert origin.count == 1


async def test_the_sdk_gets_what_it_would_get_directly(origin: MockOrigin, proxy: Proxy) -> None:
    texts = [f"text {number}" for number in range(40)]
    async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="sk-test-0123456789", max_retries=0) as sdk:
        await sdk.embeddings.create(model="e", input=texts[::3])
        answer = await sdk.embeddings.create(model="e", input=texts)
    own = await _directly(origin, *texts)
    assert [item.embedding for item in answer.data] == [pytest.approx(vector, rel=1e-6) for vector in own]


async def test_askers_at_once_share_one_call(origin: MockOrigin, proxy: Proxy) -> None:
    origin.use({"headers_delay": "300ms"})
    answers = await asyncio.gather(*(_embed(proxy, ["a", "b"]) for _ in range(20)))
    assert origin.count == 1
    assert len({json.dumps(_vectors(answer)) for answer in answers}) == 1
    assert sorted({answer.headers["x-edgeinf-cache"] for answer in answers}) == ["collapsed", "miss"]


async def test_another_credential_gets_nothing_of_it(origin: MockOrigin, proxy: Proxy) -> None:
    await _embed(proxy, ["a", "b"], {"authorization": "Bearer sk-one-0123456789"})
    await _embed(proxy, ["a", "b"], {"authorization": "Bearer sk-two-0123456789"})
    assert origin.count == 2


async def test_what_a_cache_control_forbids_holds_for_every_part(origin: MockOrigin, proxy: Proxy) -> None:
    await _embed(proxy, ["a", "b"], {"cache-control": "no-store"})
    await _embed(proxy, ["a", "b"])
    refreshed = await _embed(proxy, ["a", "b"], {"cache-control": "no-cache"})
    assert refreshed.headers["x-edgeinf-cache"] == "miss"
    assert origin.count == 3
    absent = await _embed(proxy, ["a", "z"], {"cache-control": "only-if-cached"})
    assert absent.status_code == 504
    assert origin.count == 3


@pytest.mark.parametrize(
    "data",
    [
        pytest.param([{"index": 0, "embedding": [1.0]}], id="too few"),
        pytest.param([{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}], id="an index twice"),
        pytest.param([{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [2.0, 3.0]}], id="unequal widths"),
    ],
)
async def test_an_answer_that_cannot_be_taken_apart_is_neither_kept_nor_mixed(
    data: list[Any], origin: MockOrigin, proxy: Proxy
) -> None:
    await _embed(proxy, ["a"])
    broken = {"object": "list", "model": "e", "data": data}
    origin.use({"rules": [{"when": {"nth": 1}, "answer": {"raw": [json.dumps(broken)]}}]})
    answer = await _embed(proxy, ["b", "a", "c"])
    own = await _directly(origin, "b", "a", "c")
    assert _vectors(answer) == own
    assert origin.calls[2].json["input"] == ["b", "a", "c"]  # the whole, since the part was of no use


async def test_an_error_for_the_missing_part_is_passed_on(origin: MockOrigin, proxy: Proxy) -> None:
    await _embed(proxy, ["a"])
    origin.use({"fault": "400;message=too long"})
    answer = await _embed(proxy, ["b", "a"])
    assert answer.status_code == 400
    assert "too long" in answer.text


async def test_an_answer_larger_than_what_is_stored_is_still_joined(origin: MockOrigin, proxy: Proxy) -> None:
    await _embed(proxy, ["a"], dimensions=60_000)
    origin.reset()
    texts = ["a", *(f"text {number}" for number in range(9))]
    answer = await _embed(proxy, texts, dimensions=60_000)
    assert len(answer.content) > 8 * 2**20
    assert origin.calls[0].json["input"] == texts[1:]
    assert _vectors(answer)[4] == (await _directly(origin, "text 3", dimensions=60_000))[0]


async def test_the_event_counts_the_parts_that_hit(origin: MockOrigin, tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    kept = Cache(disk=None)
    async with proxying(region(origin, "only"), cache=kept, events=Events(file=log)) as proxy:
        await _embed(proxy, ["a", "b"])
        await _embed(proxy, ["b", "c", "d"])
        await _embed(proxy, ["d", "a"])
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(event["cache"], event["hits"], len(event["keys"]["safe"])) for event in events] == [
        ("miss", 0, 2),
        ("miss", 1, 3),
        ("hit", 2, 2),
    ]
