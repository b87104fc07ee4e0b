"""Which requests are one question (P1 to P19), counted at the origin."""

from __future__ import annotations

import asyncio
import json
import random
from pathlib import Path
from typing import Any

import httpx
import openai
import pydantic
import pytest

from edgeinf.core.config.schema import Cache, Disk, Region
from edgeinf.mock import MockOrigin
from tests.serve.proxying import Proxy, chat, proxying, region

CHAT = "/v1/chat/completions"
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
TURNED = {"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}}


def _format(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}


def _system(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": text}, {"role": "user", "content": "hi"}]


async def _ask(proxy: Proxy, *bodies: dict[str, Any], path: str = CHAT, **headers: str) -> list[str]:
    """Ask one after the other and return what the cache did."""
    answers = [await proxy.post(path, body, **headers) for body in bodies]
    assert [answer.status_code for answer in answers] == [200] * len(bodies)
    return [answer.headers["x-edgeinf-cache"] for answer in answers]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"reasoning_effort": "low"}, {"reasoning_effort": "high"}, id="P1 effort"),
        pytest.param(
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            {"thinking": {"type": "enabled", "budget_tokens": 4096}},
            id="P1 thinking",
        ),
        pytest.param({"num_ctx": 2048}, {"num_ctx": 8192}, id="P2 num_ctx"),
        pytest.param({"min_p": 0.1}, {"min_p": 0.2}, id="P2 min_p"),
        pytest.param({"guided_json": SCHEMA}, {"guided_json": {**SCHEMA, "required": ["a"]}}, id="P2 guided_json"),
        pytest.param(
            {"chat_template_kwargs": {"enable_thinking": True}},
            {"chat_template_kwargs": {"enable_thinking": False}},
            id="P2 template",
        ),
        pytest.param({"zz": 1}, {"zz": 2}, id="P2 unknown"),
        pytest.param({"max_tokens": 5}, {"max_tokens": 6}, id="P6 max_tokens"),
        pytest.param({"tool_choice": "auto"}, {"tool_choice": "none"}, id="P6 tool_choice"),
        pytest.param({"stop": ["a"]}, {"stop": ["b"]}, id="P6 stop"),
        pytest.param({"n": 1}, {"n": 2}, id="P6 n"),
        pytest.param({}, {"temperature": 0}, id="P6 absent is not the default"),
        pytest.param({"response_format": {"type": "json_object"}}, {}, id="P7 json_object"),
        pytest.param(
            {"response_format": _format(SCHEMA)},
            {"response_format": _format({**SCHEMA, "required": ["a"]})},
            id="P7 two schemas",
        ),
        pytest.param(
            {"response_format": _format(SCHEMA)}, {"response_format": _format(TURNED)}, id="P7 order of properties"
        ),
        pytest.param(
            {"messages": [{"role": "user", "content": "Is it Polish or polish?"}]},
            {"messages": [{"role": "user", "content": "is it polish or polish?"}]},
            id="P18 case",
        ),
        pytest.param({"messages": _system("one")}, {"messages": _system("two")}, id="P19 system prompt"),
    ],
)
@pytest.mark.parametrize("level", ["exact", "safe"])
async def test_what_may_change_the_answer_keeps_questions_apart(
    first: dict[str, Any], second: dict[str, Any], level: str, origin: MockOrigin, proxy: Proxy
) -> None:
    bodies = [{**chat(), **first}, {**chat(), **second}]
    assert await _ask(proxy, *bodies, *bodies, x_edgeinf_normalize=level) == ["miss", "miss", "hit", "hit"]
    assert origin.count == 2


async def test_responses_are_kept_apart_by_what_they_are_asked_with(origin: MockOrigin, proxy: Proxy) -> None:
    """P4."""
    a, b = ({"model": "m", "input": "hi", "instructions": text} for text in "AB")
    assert await _ask(proxy, a, b, a, path="/v1/responses") == ["miss", "miss", "hit"]
    follow_up = {"model": "m", "input": "hi", "previous_response_id": "resp_1"}
    assert await _ask(proxy, follow_up, follow_up, path="/v1/responses") == ["bypass", "bypass"]
    assert origin.count == 4


async def test_a_structured_question_of_the_sdk_hits(origin: MockOrigin, proxy: Proxy) -> None:
    """P7."""

    class Name(pydantic.BaseModel):
        name: str

    origin.use({"answer": {"text": '{"name": "Ada"}'}})
    async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="sk-test-0123456789", max_retries=0) as sdk:
        for _ in range(2):
            answer = await sdk.chat.completions.parse(
                model="m", messages=[{"role": "user", "content": "who?"}], response_format=Name
            )
            assert answer.choices[0].message.parsed == Name(name="Ada")
    assert origin.count == 1


async def test_the_same_question_in_any_order_of_keys_is_one(origin: MockOrigin, proxy: Proxy) -> None:
    """P9."""
    body = {
        **chat(temperature=0.5, seed=1, metadata={"a": 1, "b": {"c": 2, "d": 3}}),
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {**SCHEMA, "required": ["a"]}}}],
        "response_format": _format(SCHEMA),
    }
    rng = random.Random(9)
    kinds = [(await _ask(proxy, _shuffled(body, rng)))[0] for _ in range(100)]
    assert kinds == ["miss"] + ["hit"] * 99
    assert origin.count == 1


def _shuffled(value: Any, rng: random.Random, *, keep: bool = False) -> Any:
    if isinstance(value, list):
        return [_shuffled(item, rng) for item in value]
    if not isinstance(value, dict):
        return value
    names = list(value)
    if not keep:
        rng.shuffle(names)
    return {name: _shuffled(value[name], rng, keep=name == "properties") for name in names}


@pytest.mark.parametrize("change", ["url", "headers", "model"])
async def test_another_provider_or_its_settings_start_cold(change: str, make_origin: Any, tmp_path: Path) -> None:
    """P8, P16: the same body, the same disk, another origin behind it."""
    a, b = await make_origin(), await make_origin()
    before = region(a, "r")
    after: Region = {
        "url": region(b, "r"),
        "headers": region(a, "r", headers={"x-thinking": "high"}),
        "model": region(a, "r", completeness="no-done"),
    }[change]
    kept = Cache(disk=Disk(path=tmp_path / "cache"))
    for shape in (before, before, after, after):
        async with proxying(shape, cache=kept) as proxy:
            await _ask(proxy, chat())
    assert a.count + b.count == (1 if change == "model" else 2)


async def test_uploads_are_relayed_each_by_its_own_bytes(origin: MockOrigin, proxy: Proxy) -> None:
    """P11."""
    texts = []
    for sound in (b"RIFF one", b"RIFF two", b"RIFF one"):
        files = {"file": ("a.wav", sound, "audio/wav")}
        answer = await proxy.client.post("/v1/audio/transcriptions", files=files, data={"model": "w"})
        assert answer.headers["x-edgeinf-cache"] == "bypass"
        texts.append(answer.json()["text"])
    assert texts[0] == texts[2] != texts[1]
    assert origin.count == 3


async def test_each_credential_finds_what_was_stored_under_it(origin: MockOrigin, proxy: Proxy) -> None:
    """P15: a credential that changes while calls are under way."""
    origin.use({"ttft": "20ms"})

    async def asked(number: int) -> str:
        headers = {"authorization": f"Bearer sk-{number % 5}-0123456789"}
        answer = await proxy.client.post(CHAT, json=chat(), headers=headers)
        return answer.headers["x-edgeinf-cache"]

    kinds = await asyncio.gather(*(asked(number) for number in range(25)))
    assert sorted(set(kinds)) in (["collapsed", "miss"], ["collapsed", "hit", "miss"])
    assert kinds.count("miss") == 5
    assert sorted(call.headers["authorization"] for call in origin.calls) == [
        f"Bearer sk-{number}-0123456789" for number in range(5)
    ]
    assert {await asked(number) for number in range(5)} == {"hit"}


async def test_a_header_is_in_the_key_where_it_reaches_the_origin(origin: MockOrigin) -> None:
    """P17."""
    async with proxying(region(origin, "r"), cache=Cache(disk=None, forward_headers=("x-flavour",))) as proxy:
        for name, expected in (("openai_beta", 2), ("x_flavour", 2), ("x_something", 1), ("user_agent", 1)):
            origin.reset()
            body = chat(name)
            for value in ("one", "two"):
                await _ask(proxy, body, **{name: value})
            assert (name, origin.count) == (name, expected)


async def test_what_is_not_understood_is_not_forwarded(origin: MockOrigin, proxy: Proxy) -> None:
    """Two readers of one body must not read two things."""
    doubled = b'{"model":"m","messages":[{"role":"user","content":"a"}],"n":1,"n":2}'
    lone = rb'{"model":"m","messages":[{"role":"user","content":"\ud800"}]}'
    nan = b'{"model":"m","messages":[],"temperature":NaN}'
    for raw in (doubled, lone, nan, b"[]", b"{", b""):
        answer = await proxy.client.post(CHAT, content=raw, headers={"content-type": "application/json"})
        assert answer.status_code == 400
        assert json.loads(answer.content)["error"]["type"] == "invalid_request_error"
    assert origin.count == 0


@pytest.mark.parametrize("path", ["/v1/moderations", "/v1/audio/speech", "/v1/images/generations"])
async def test_pure_endpoints_hit_at_exact(path: str, origin: MockOrigin, proxy: Proxy) -> None:
    body: dict[str, Any] = {
        "/v1/moderations": {"model": "omni", "input": "hello "},
        "/v1/audio/speech": {"model": "tts", "input": "hello ", "voice": "alloy"},
        "/v1/images/generations": {"model": "gpt-image-1", "prompt": "hello "},
    }[path]
    first = await proxy.post(path, body)
    again = await proxy.post(path, {**body, "user": "someone"})
    assert (first.headers["x-edgeinf-cache"], again.headers["x-edgeinf-cache"]) == ("miss", "hit")
    assert again.content == first.content
    assert again.headers["content-type"] == first.headers["content-type"]
    other = {name: value.strip() if isinstance(value, str) else value for name, value in body.items()}
    assert (await proxy.post(path, other)).headers["x-edgeinf-cache"] == "miss"


async def test_an_image_by_its_address_is_not_kept(origin: MockOrigin, proxy: Proxy) -> None:
    body = {"model": "dall-e-3", "prompt": "a cat", "response_format": "url"}
    assert await _ask(proxy, body, body, path="/v1/images/generations") == ["bypass", "bypass"]


async def test_sound_is_heard_while_it_is_made_and_a_cut_is_not_kept(origin: MockOrigin, proxy: Proxy) -> None:
    body = {"model": "tts", "input": "hello", "voice": "alloy"}
    origin.use({"answer": {"bytes": 4000}, "fault": "stall;after=2"})
    async with proxy.client.stream("POST", "/v1/audio/speech", json=body) as answer:
        parts = answer.aiter_raw()
        first = await asyncio.wait_for(anext(parts), 5)
        assert len(first) > 0
    for fault in ("cut;after=2", "eof"):
        origin.use({"answer": {"bytes": 4000}, "fault": fault})
        try:
            await proxy.post("/v1/audio/speech", body)
        except httpx.RemoteProtocolError:
            assert fault.startswith("cut")
    origin.use({"answer": {"bytes": 4000}})
    whole = await proxy.post("/v1/audio/speech", body)
    assert (whole.headers["x-edgeinf-cache"], len(whole.content)) == ("miss", 4000)
    assert (await proxy.post("/v1/audio/speech", body)).headers["x-edgeinf-cache"] == "hit"
