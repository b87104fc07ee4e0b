"""A proxy on loopback in front of scripted regions, for tests that look at what a client sees."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx

from edgeinf.core.clock import Clock
from edgeinf.core.config.schema import Cache, Config, Events, Region, Routing, Timeouts
from edgeinf.mock import MockOrigin
from edgeinf.serve.run import bind, serve
from edgeinf.serve.runtime import Runtime, make_runtime

__all__ = ["Proxy", "ask_chat", "chat", "data", "messages", "proxying", "region", "text_of"]

FAST = Timeouts(connect=1.0, ttft=5.0, idle=5.0, total=20.0)


def region(origin: MockOrigin | str, name: str, **more: Any) -> Region:
    """Return a region's config; ``timeouts`` are short unless given."""
    url = origin if isinstance(origin, str) else origin.url
    return Region(name=name, url=url, **{"serves": ("openai", "anthropic"), "timeouts": FAST, **more})


class Proxy:
    """A running proxy and a client of it."""

    def __init__(self, url: str, runtime: Runtime, client: httpx.AsyncClient, stop: asyncio.Event) -> None:
        self.url = url
        self.runtime = runtime
        self.client = client
        self.stop = stop

    async def post(self, path: str, body: Mapping[str, Any], **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.post(path, json=body, headers=named)


@contextlib.asynccontextmanager
async def proxying(
    *regions: Region,
    routing: Routing | None = None,
    cache: Cache | None = None,
    clock: Clock | None = None,
    events: Events | None = None,
    **more: Any,
) -> AsyncIterator[Proxy]:
    """Run a proxy without disk or event log; every call is its own unless ``cache`` says otherwise."""
    config = Config(
        regions=regions,
        routing=routing or Routing(strategy="priority"),
        cache=cache or Cache(disk=None, memory=None),
        events=events or Events(file=None),
        **more,
    )
    sock = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    runtime = make_runtime(config, clock=clock)
    ready, stop = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(serve(config, sock, ready=ready.set, stop=stop, runtime=runtime))
    try:
        await asyncio.wait_for(ready.wait(), 10)
        async with httpx.AsyncClient(base_url=url, timeout=30) as client:
            yield Proxy(url, runtime, client, stop)
    finally:
        stop.set()
        await task


def chat(text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": text}], **more}


def messages(text: str = "hi", **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 50, "messages": [{"role": "user", "content": text}], **more}


async def ask_chat(proxy: Proxy, text: str = "hi", **more: Any) -> httpx.Response:
    return await proxy.post("/v1/chat/completions", chat(text, **more))


def data(response: httpx.Response) -> list[Any]:
    """Return the JSON of each event of a stream; ``[DONE]`` stays text."""
    lines = [line[6:] for line in response.text.split("\n") if line.startswith("data: ")]
    return [line if line.startswith("[DONE]") else json.loads(line) for line in lines]


def text_of(response: httpx.Response) -> str:
    """Return the text of a chat stream or document."""
    if "event-stream" not in response.headers["content-type"]:
        return str(response.json()["choices"][0]["message"]["content"])
    chunks = [chunk for chunk in data(response) if isinstance(chunk, dict)]
    return "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks if c.get("choices"))
