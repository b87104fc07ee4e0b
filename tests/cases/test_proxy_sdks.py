"""The unmodified SDKs see through the proxy what they see without it: warm and asked as stream or whole."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anthropic
import openai
import pytest

from edgeinf.mock import MockOrigin
from tests.cases.saying import said
from tests.serve.proxying import Proxy

KEY = "sk-test-0123456789"
SHAPES: dict[str, dict[str, Any]] = {
    "text": {"tokens": 9, "unicode": True, "cached_tokens": 3},
    "reasoning": {"reasoning": 4, "tokens": 4},
    "tools": {"tool_calls": [{"parts": 3}, {"name": "second", "arguments": "{}", "parts": 1}], "tokens": 2},
}
Asked = Callable[[str, bool], Awaitable[Any]]


async def _chat(url: str, stream: bool) -> Any:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as sdk:
        asked: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        if not stream:
            return (await sdk.chat.completions.create(**asked)).to_dict()
        usage: Any = {"include_usage": True}
        async with sdk.chat.completions.stream(**asked, stream_options=usage) as events:
            return (await events.get_final_completion()).to_dict()


async def _responses(url: str, stream: bool) -> Any:
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as sdk:
        if not stream:
            return (await sdk.responses.create(model="m", input="hi")).to_dict()
        async with sdk.responses.stream(model="m", input="hi") as events:
            return (await events.get_final_response()).to_dict()


async def _messages(url: str, stream: bool) -> Any:
    async with anthropic.AsyncAnthropic(base_url=url, api_key=KEY, max_retries=0) as sdk:
        asked: dict[str, Any] = {"model": "m", "max_tokens": 64, "messages": [{"role": "user", "content": "hi"}]}
        if not stream:
            return (await sdk.messages.create(**asked)).to_dict()
        async with sdk.messages.stream(**asked) as events:
            return (await events.get_final_message()).to_dict()


@pytest.mark.parametrize("asked", [False, True], ids=["ask whole", "ask stream"])
@pytest.mark.parametrize("warm", [False, True], ids=["warm whole", "warm stream"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ask", [_chat, _responses, _messages], ids=["chat", "responses", "messages"])
async def test_a_hit_is_what_the_origin_says_directly(
    ask: Asked, shape: str, warm: bool, asked: bool, origin: MockOrigin, proxy: Proxy
) -> None:
    origin.use({"answer": SHAPES[shape], "fixed_ids": True})
    direct = await ask(origin.url, asked)
    origin.reset()
    missed = await ask(proxy.url, warm)
    hit = await ask(proxy.url, asked)
    assert origin.count == 1
    assert said(hit) == said(direct)
    assert said(missed) == said(await ask(origin.url, warm))
