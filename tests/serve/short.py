"""Two proxies alike but for one thing: whether hits have a short way."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

import edgeinf.serve.run as running
from edgeinf.core.clock import Clock
from edgeinf.core.config.schema import Cache
from edgeinf.core.events import Event
from edgeinf.core.wire.headers import Headers
from edgeinf.mock import MockOrigin
from edgeinf.serve.shortcut import Shortcut
from tests.serve.proxying import Proxy, proxying, region

__all__ = ["Way", "Ways", "both_ways", "one_way"]


class Noting(Shortcut):
    """Notes how often the short way was asked, and how often it answered."""

    asked = 0
    answered = 0

    def answer(self, url: bytes, headers: Headers, body: bytes, client: str) -> bytes | None:
        answer = super().answer(url, headers, body, client)
        type(self).asked += 1
        type(self).answered += answer is not None
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
