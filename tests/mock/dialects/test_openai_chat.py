"""Chat completions: every field that a client may see, equal in both shapes."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask, chat

PATH = "/v1/chat/completions"
FULL: dict[str, Any] = {
    "answer": {
        "tokens": 5,
        "reasoning": 3,
        "annotations": [{"type": "url_citation", "url_citation": {"url": "https://x.test", "title": "x"}}],
        "unicode": True,
    },
    "fixed_ids": True,
}


def folded(data: list[Any], index: int) -> dict[str, Any]:
    """Join the deltas of one choice."""
    message: dict[str, Any] = {"content": "", "reasoning_content": "", "refusal": "", "tools": {}, "finish": None}
    for chunk in data[:-1]:
        for choice in (c for c in chunk["choices"] if c["index"] == index):
            delta = choice["delta"]
            for name in ("content", "reasoning_content", "refusal"):
                message[name] += delta.get(name) or ""
            for call in delta.get("tool_calls", ()):
                tool = message["tools"].setdefault(call["index"], {"id": call.get("id"), "arguments": ""})
                tool["arguments"] += call["function"]["arguments"]
            message["finish"] = choice["finish_reason"] or message["finish"]
    return message


@pytest.mark.parametrize("n", [1, 3])
async def test_stream_and_whole_say_the_same_for_every_choice(origin: MockOrigin, n: int) -> None:
    origin.use(FULL)
    whole = (await ask(origin, PATH, chat(n=n))).json
    data = (await ask(origin, PATH, chat(n=n, stream=True))).data

    assert len(whole["choices"]) == n
    for choice in whole["choices"]:
        streamed = folded(data, choice["index"])
        assert streamed["content"] == choice["message"]["content"]
        assert streamed["reasoning_content"] == choice["message"]["reasoning_content"]
        assert streamed["finish"] == choice["finish_reason"] == "stop"
    assert len({choice["message"]["content"] for choice in whole["choices"]}) == n
    assert {(chunk["id"], chunk["created"]) for chunk in data[:-1]} == {(whole["id"], whole["created"])}


async def test_choices_interleave(origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 3}})
    data = (await ask(origin, PATH, chat(n=2, stream=True))).data

    assert [chunk["choices"][0]["index"] for chunk in data[:-1]] == [0, 1] * 5


async def test_tool_calls_come_in_fragments(origin: MockOrigin) -> None:
    calls = [{"name": "f", "arguments": '{"a":1}', "parts": 2}, {"name": "g", "arguments": '{"é":2}', "parts": 3}]
    origin.use({"answer": {"tool_calls": calls}})
    whole = (await ask(origin, PATH, chat())).json["choices"][0]
    data = (await ask(origin, PATH, chat(stream=True))).data

    tools = folded(data, 0)["tools"]
    assert [tools[i]["arguments"] for i in (0, 1)] == ['{"a":1}', '{"é":2}']
    assert [c["function"]["arguments"] for c in whole["message"]["tool_calls"]] == ['{"a":1}', '{"é":2}']
    assert [tools[i]["id"] for i in (0, 1)] == [c["id"] for c in whole["message"]["tool_calls"]]
    assert whole["finish_reason"] == folded(data, 0)["finish"] == "tool_calls"
    assert whole["message"]["content"] is None


async def test_a_refusal_is_in_its_own_field(origin: MockOrigin) -> None:
    origin.use({"answer": {"refusal": "I cannot help"}})
    whole = (await ask(origin, PATH, chat())).json["choices"][0]["message"]
    streamed = folded((await ask(origin, PATH, chat(stream=True))).data, 0)

    assert (whole["refusal"], whole["content"]) == ("I cannot help", None)
    assert (streamed["refusal"], streamed["content"]) == ("I cannot help", "")


@pytest.mark.parametrize("asked", [False, True], ids=["unasked", "asked"])
async def test_usage_comes_last_and_only_if_asked(origin: MockOrigin, asked: bool) -> None:
    options = {"stream_options": {"include_usage": True}} if asked else {}
    data = (await ask(origin, PATH, chat(stream=True, **options))).data
    whole = (await ask(origin, PATH, chat())).json

    assert all(("usage" in chunk) is asked for chunk in data[:-1])
    if asked:
        assert [chunk["usage"] for chunk in data[:-2]] == [None] * len(data[:-2])
        assert data[-2]["choices"] == []
        assert data[-2]["usage"] == whole["usage"]


@pytest.mark.parametrize(
    ("options", "answer", "padded"),
    [
        ({}, {}, False),
        ({"include_obfuscation": True}, {}, True),
        ({}, {"obfuscation": True}, True),
        ({"include_obfuscation": True}, {"obfuscation": False}, False),
    ],
)
async def test_obfuscation_pads_the_chunks(origin: MockOrigin, options: Any, answer: Any, padded: bool) -> None:
    origin.use({"answer": answer})
    data = (await ask(origin, PATH, chat(stream=True, stream_options=options))).data

    assert all(("obfuscation" in chunk) is padded for chunk in data[:-1])


async def test_logprobs_go_with_each_token(origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 3, "unicode": True}})
    whole = (await ask(origin, PATH, chat(logprobs=True))).json["choices"][0]
    data = (await ask(origin, PATH, chat(logprobs=True, stream=True))).data

    streamed = [c["choices"][0]["logprobs"]["content"][0] for c in data[:-1] if c["choices"][0]["logprobs"]]
    assert streamed == whole["logprobs"]["content"]
    assert "".join(entry["token"] for entry in streamed) == whole["message"]["content"]


async def test_vendor_fields_and_cached_tokens_are_stated(origin: MockOrigin) -> None:
    origin.use({"answer": {"extra": {"provider": "x", "citations": ["u"]}, "cached_tokens": 7, "input_tokens": 9}})
    whole = (await ask(origin, PATH, chat())).json
    data = (await ask(origin, PATH, chat(stream=True))).data

    assert (whole["provider"], whole["citations"]) == ("x", ["u"])
    assert all(chunk["provider"] == "x" for chunk in data[:-1])
    assert whole["usage"]["prompt_tokens_details"]["cached_tokens"] == 7
    assert whole["usage"]["prompt_tokens"] == 9


async def test_the_sdk_accepts_everything_at_once(origin: MockOrigin) -> None:
    origin.use({"answer": {**FULL["answer"], "tool_calls": 2, "text": "so"}})
    async with openai.AsyncOpenAI(base_url=f"{origin.url}/v1", api_key="k", max_retries=0) as client:
        prompt: Any = [{"role": "user", "content": "hi"}]
        async with client.chat.completions.stream(model="m", messages=prompt, n=2, logprobs=True) as stream:
            final = await stream.get_final_completion()

    assert [choice.message.content for choice in final.choices] == ["so", "so"]
    assert [len(choice.message.tool_calls or ()) for choice in final.choices] == [2, 2]


async def test_vendor_deltas_are_kept_in_both_shapes(origin: MockOrigin) -> None:
    details = [{"type": "reasoning.encrypted", "data": "abc"}]
    origin.use({"answer": {"delta": {"reasoning_details": details}}})
    whole = (await ask(origin, PATH, chat())).json
    data = (await ask(origin, PATH, chat(stream=True))).data

    assert whole["choices"][0]["message"]["reasoning_details"] == details
    assert [c for c in data[:-1] if c["choices"][0]["delta"].get("reasoning_details") == details]
