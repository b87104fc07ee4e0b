"""One tenant never sees another's answer: a hundred thousand requests at random, through the whole pipeline.

The origin is in the process and gives every answer a number of its own. Whoever sees a number first decides whose
answer it is; from then on nobody outside that circle, namespace and question may see it.
"""

from __future__ import annotations

import asyncio
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from edgeinf.core.config.schema import Cache, Config, Events, Limit, Region
from edgeinf.core.wire.headers import Headers
from edgeinf.serve.app import App
from edgeinf.serve.generation import Generation, make_generation
from edgeinf.serve.origin.client import Request
from edgeinf.serve.runtime import make_runtime
from tests.serve.callers import auth_for, secret

REQUESTS = 100_000
AT_ONCE = 40
KEYS = [f"k{n}" for n in range(9)]
TEAMS = {f"k{n}": {"team": f"t{n % 3}"} if n % 4 else {} for n in range(9)}
SCOPES = ("key", "user", "team", "shared")
SERIAL = re.compile(rb"answer-(\d+)-")

PATHS = ("/v1/chat/completions", "/v1/messages", "/v1/embeddings")


class Origin:
    """An origin in this process: every answer has a number."""

    def __init__(self) -> None:
        self.count = 0

    async def send(self, request: Request) -> Answer:
        self.count += 1
        text = f"answer-{self.count}-"
        if not self.count % 7:
            await asyncio.sleep(0)
        assert isinstance(request.body, bytes)
        asked = msgspec.json.decode(request.body)
        if request.url.endswith("/embeddings"):
            data = [{"object": "embedding", "index": 0, "embedding": [0.5], "note": text}]
            return Answer({"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1}})
        if request.url.endswith("/messages"):
            content = [{"type": "text", "text": text}]
            return Answer({"type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"})
        if asked.get("stream"):
            chunk = {"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
            return Answer(b"data: %b\n\ndata: [DONE]\n\n" % msgspec.json.encode(chunk), kind=b"text/event-stream")
        message = {"role": "assistant", "content": text}
        return Answer({"id": "c", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    async def warm(self, url: str, count: int, *, http2: bool = False) -> int:
        return 0

    async def aclose(self) -> None:
        pass


class Answer:
    """What the origin says."""

    status = 200

    def __init__(self, body: Any, *, kind: bytes = b"application/json") -> None:
        self._left: bytes | None = body if isinstance(body, bytes) else msgspec.json.encode(body)
        self.headers: Headers = [(b"content-type", kind)]

    async def read(self) -> bytes | None:
        left, self._left = self._left, None
        return left

    def close(self) -> None:
        pass


async def ask(app: App, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    """Call the application as a server does and return status and body."""
    sent: list[dict[str, Any]] = []
    given = [{"type": "http.request", "body": body, "more_body": False}]
    forever: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def receive() -> Any:
        return given.pop() if given else await forever

    async def send(message: Any) -> None:
        sent.append(message)

    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "client": ("127.0.0.1", 1)}
    await app({**scope, "headers": [(b"host", b"localhost"), *pairs]}, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def circle(generation: Generation, caller: str, user: str | None, index: int) -> Any:
    """Return with whom a caller may share an answer; worked out from the rules, not from the code."""
    if generation.config.auth is None:
        return "credential", caller
    scope = generation.config.cache.scope
    if scope == "shared":
        return "shared"
    if scope == "team" and "team" in TEAMS[caller]:
        return "team", TEAMS[caller]["team"]
    if scope == "user":
        return ("user", caller, user) if user is not None else ("nobody", index)
    return "key", caller


def generations(config: Config) -> list[tuple[Generation, frozenset[str]]]:
    """Return every scope with every third of the keys revoked, and no auth at all."""
    found = []
    for scope in SCOPES:
        for revoked in (frozenset(KEYS[0::3]), frozenset(KEYS[1::3]), frozenset(KEYS[2::3]), frozenset[str]()):
            auth = auth_for(**{name: TEAMS[name] for name in KEYS if name not in revoked})
            cache: Any = replace(config.cache, scope=scope)
            found.append((make_generation(replace(config, auth=auth, cache=cache)), revoked))
    found.append((make_generation(config), frozenset()))
    return found


@pytest.mark.timeout(900)  # it is a hundred thousand requests, however busy the machine is
async def test_no_tenant_ever_sees_anothers_answer(tmp_path: Path) -> None:
    chance = random.Random(20_240_817)
    regions = (Region(name="r", url="http://127.0.0.1:9", serves=("openai", "anthropic")),)
    config = Config(
        regions=regions,
        cache=Cache(disk=None),
        events=Events(file=None),
        limits=(Limit(name="roomy", requests=(10_000_000, 1.0), concurrency=1000),),
    )
    runtime = make_runtime(config)
    origin: Any = Origin()
    runtime.client = origin
    app = App(runtime)
    choices = generations(config)
    owners: dict[bytes, Any] = {}
    bodies: dict[Any, bytes] = {}
    seen = {"hit": 0, "refused": 0}

    async def one(index: int, generation: Generation, revoked: frozenset[str]) -> None:
        caller, path = chance.choice(KEYS), chance.choice(PATHS)
        user = chance.choice((None, "u1", "u2"))
        question, stream = chance.randrange(12), chance.random() < 0.4 and path == PATHS[0]
        namespace = chance.choice(("", "", "n1", "n2"))
        shape = path, user, question, stream
        if shape not in bodies:
            fields: dict[str, Any] = {"model": "m", "max_tokens": 9, **({"stream": True} if stream else {})}
            if user is not None:
                fields |= {"metadata": {"user_id": user}} if path == "/v1/messages" else {"user": user}
            messages = [{"role": "user", "content": f"question {question}"}]
            fields |= {"input": f"question {question}"} if path == PATHS[2] else {"messages": messages}
            bodies[shape] = msgspec.json.encode(fields)
        header = "x-api-key" if chance.random() < 0.3 else "authorization"
        headers = {header: secret(caller) if header == "x-api-key" else f"Bearer {secret(caller)}"}
        if namespace:
            headers["x-edgeinf-namespace"] = namespace
        whose = circle(generation, f"{header}:{caller}" if generation.config.auth is None else caller, user, index)
        status, answer = await ask(app, path, bodies[shape], headers)
        if caller in revoked:
            assert status == 401
            seen["refused"] += 1
            return
        assert status == 200, answer
        [serial] = SERIAL.findall(answer)
        mine = whose, namespace, path, question
        if serial in owners:
            seen["hit"] += 1
        assert owners.setdefault(serial, mine) == mine

    for start in range(0, REQUESTS, AT_ONCE):
        if start % (5 * AT_ONCE) == 0:
            generation, revoked = chance.choice(choices)
            runtime.generation = generation
        await asyncio.gather(*(one(start + n, generation, revoked) for n in range(AT_ONCE)))
        if chance.random() < 0.01:
            assert runtime.tiers.memory is not None
            runtime.tiers.memory.clear()
    await runtime.aclose()
    # The run must have tried what it is about: many answers shared, many keys refused, many calls to the origin.
    assert seen["hit"] > REQUESTS / 4
    assert seen["refused"] > REQUESTS / 10
    assert origin.count > 1000
