"""Two proxies alike but for one thing: whether hits have a short way."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

import edgeinf.serve.run as running
from edgeinf.core.clock import Clock
from edgeinf.core.config.schema import Cache
from edgeinf.core.events import Event
from edgeinf.core.wire.headers import Headers
from edgeinf.mock import MockOrigin
from edgeinf.serve.shortcut import Shortcut
from tests.serve.proxying import Proxy, chat, messages, proxying, region
from tests.serve.wire import Answer as Came
from tests.serve.wire import wired

__all__ = ["SHAPES", "Way", "Ways", "both_ways", "one_way", "plain", "same", "send", "told"]

# What differs between any two answers of one server.
_OWN_HEADERS = ("x-edgeinf-request-id", "server-timing", "x-request-id", "request-id", "x-mock-number")
_OWN_FIELDS = ("id", "at", "edgeinf_ms", "ttft_ms", "total_ms", "key_space", "scope", "tenant", "keys", "user")
# Error bodies name the request.
_OWN_IN_BODY = ("request_id", "id")

RESPONSES = {"model": "m", "input": "hi", "store": False}
EMBEDDINGS = {"model": "m", "input": "hi"}


SHAPES = pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", chat()),
        ("/v1/chat/completions", chat(stream=True)),
        ("/v1/chat/completions", chat(stream=True, stream_options={"include_usage": True})),
        ("/v1/chat/completions", chat(user="someone", metadata={"a": "b"}, n=2)),
        ("/v1/completions", {"model": "m", "prompt": "hi"}),
        ("/v1/messages", messages()),
        ("/v1/messages", messages(stream=True)),
        ("/v1/responses", RESPONSES),
        ("/v1/responses", {**RESPONSES, "stream": True, "metadata": {"a": "b"}, "user": "someone"}),
        ("/v1/embeddings", EMBEDDINGS),
        ("/v1/embeddings", {**EMBEDDINGS, "encoding_format": "base64"}),
    ],
    ids=[
        "chat",
        "stream",
        "usage",
        "labels",
        "completions",
        "messages",
        "messages-stream",
        "responses",
        "responses-stream",
        "embeddings",
        "base64",
    ],
)


class Noting(Shortcut):
    """Notes how often the short way was asked, and how often it answered."""

    asked = 0
    answered = 0

    repeated = 0

    def answer(self, url: bytes, headers: Headers, body: bytes, client: str, data: bytes | None = None) -> bytes | None:
        answer = super().answer(url, headers, body, client, data)
        type(self).asked += 1
        type(self).answered += isinstance(answer, bytes)
        return answer

    def again(self, data: bytes, client: str) -> bytes | None:
        answer = super().again(data, client)
        type(self).asked += answer is not None
        type(self).answered += answer is not None
        type(self).repeated += answer is not None
        return answer


class _Long(Shortcut):
    def claims(self, url: bytes) -> bool:
        return False


class Way:
    """A proxy, its events, and how often its short way answered."""

    def __init__(self, proxy: Proxy, noted: type[Noting] | None) -> None:
        self.url = proxy.url
        self.runtime = proxy.runtime
        self.client = proxy.client
        self.noted = noted
        self.stop = proxy.stop.set
        self.events: list[Event] = []
        put = proxy.runtime.events.put

        def keep(event: Event) -> None:
            self.events.append(event)
            put(event)

        proxy.runtime.events.put = keep  # type: ignore[method-assign]

    @property
    def repeated(self) -> int:
        """How often a request's very bytes were known."""
        return 0 if self.noted is None else self.noted.repeated

    @property
    def short(self) -> int:
        return 0 if self.noted is None else self.noted.answered


class Ways:
    """Both."""

    def __init__(self, short: Way, long: Way, origin: MockOrigin) -> None:
        self.short = short
        self.long = long
        self.origin = origin


@contextlib.asynccontextmanager
async def one_way(origin: MockOrigin, *, short: bool = True, **config: Any) -> AsyncIterator[Way]:
    """Run a proxy with or without the short way, before ``origin``."""
    noted = type("Noted", (Noting,), {}) if short else None
    where = config.pop("region", {})
    config.setdefault("cache", Cache(disk=None))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "Shortcut", noted or _Long)
        async with proxying(region(origin, "only", passthrough=True, **where), **config) as proxy:
            yield Way(proxy, noted)


@contextlib.asynccontextmanager
async def both_ways(origin: MockOrigin, *, clock: Clock | None = None, **config: Any) -> AsyncIterator[Ways]:
    """Run both, before the same origin, which answers equal requests with equal bytes."""
    origin.use({"fixed_ids": True, **config.pop("script", {})})
    async with (
        one_way(origin, short=True, clock=clock, **dict(config)) as short,
        one_way(origin, short=False, clock=clock, **dict(config)) as long,
    ):
        yield Ways(short, long, origin)


def plain(answer: Came) -> dict[str, Any]:
    """Return what must be equal of an answer."""
    headers = sorted((name, value) for name, value in answer.headers if name not in _OWN_HEADERS)
    headers = [(n, v.split("key=")[0]) for n, v in headers]
    assert answer.header("x-edgeinf-request-id").startswith("req-")
    headers = [(n, v) for n, v in headers if n != "content-length" or answer.status == 200]
    body = answer.body.replace(answer.header("x-edgeinf-request-id").encode(), b"its id")
    return {"status": answer.status, "version": answer.version, "headers": headers, "body": body}


def told(event: Event) -> dict[str, Any]:
    """Return what must be equal of an event."""
    fields = msgspec.to_builtins(event)
    assert (fields["ttft_ms"] is None) == (
        fields["error"] is not None and fields["status"] != 200 and not event.ttft_ms
    )
    kept: dict[str, Any] = {name: value for name, value in fields.items() if name not in _OWN_FIELDS}
    kept["age_s"] = None if event.cache != "hit" else event.age_s
    kept["named"] = {level: value and len(value) for level, value in fields["keys"].items()}
    kept["has user"] = fields["user"] is not None
    kept["scoped"] = fields["scope"]["kind"]
    return kept


async def send(way: Way, request: bytes) -> tuple[Came, Event]:
    """Send a request on a connection of its own; return its answer and its event."""
    before = len(way.events)
    async with wired(way.url) as wire:
        await wire.send(request)
        answer = await wire.answer()
    assert len(way.events) == before + 1
    return answer, way.events[-1]


async def same(ways: Ways, request: bytes) -> Came:
    """Send a request both ways, demand that all is the same, and return the answer."""
    short, short_event = await send(ways.short, request)
    long, long_event = await send(ways.long, request)
    assert plain(short) == plain(long)
    assert told(short_event) == told(long_event)
    return short
