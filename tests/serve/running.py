"""A proxy that runs on the test's own loop, in front of scripted origins, and a client for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx

from edgeinf.core.config.schema import Cache, Config, Disk, Events, Region
from edgeinf.serve.run import bind, serve
from edgeinf.serve.runtime import Runtime, make_runtime

__all__ = ["Proxy", "chat", "config_for", "running"]


@dataclass(frozen=True, kw_only=True)
class Proxy:
    """A running proxy."""

    url: str
    runtime: Runtime
    client: httpx.AsyncClient
    stop: asyncio.Event

    async def ask(self, content: str = "hi", *, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
        """Ask a chat question."""
        return await self.client.post("/v1/chat/completions", json=chat(content, **fields), headers=headers)


def chat(content: str = "hi", **fields: Any) -> dict[str, Any]:
    """Return a chat request's body."""
    return {"model": "mock-small", "messages": [{"role": "user", "content": content}], **fields}


def config_for(folder: Path, *urls: str, disk: bool = False, **sections: Any) -> Config:
    """Return a config whose files are in ``folder`` and whose regions are the urls, named by their order."""
    regions = tuple(
        Region(name=f"region{n}" if n else "region", url=url, passthrough=True, serves=("openai", "anthropic"))
        for n, url in enumerate(urls)
    )
    made = {
        "cache": Cache(disk=Disk(path=folder / "cache") if disk else None),
        "events": Events(file=folder / "events.jsonl"),
        **sections,
    }
    return replace(Config(), regions=regions, **made)


@asynccontextmanager
async def running(config: Config) -> AsyncIterator[Proxy]:
    """Serve a config on a free port until the block ends."""
    sock = bind("127.0.0.1", 0)
    url = f"http://127.0.0.1:{sock.getsockname()[1]}"
    ready, stop = asyncio.Event(), asyncio.Event()
    runtime = make_runtime(config)
    task = asyncio.create_task(serve(config, sock, ready=ready.set, stop=stop, runtime=runtime))
    try:
        async with asyncio.timeout(20):
            await ready.wait()
        key = {"authorization": "Bearer sk-of-a-test-0123456789"}
        async with httpx.AsyncClient(base_url=url, headers=key, timeout=30, trust_env=False) as client:
            yield Proxy(url=url, runtime=runtime, client=client, stop=stop)
    finally:
        stop.set()
        await task
