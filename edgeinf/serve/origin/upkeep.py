"""What is done beside the calls: connections kept warm, regions asked how they are, their load read.

All of it costs nothing at the origin: a connection, a list of models, a page of metrics. It follows a reload, since
it looks at the generation anew each second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from edgeinf.core.wire.headers import Headers
from edgeinf.serve.origin.client import Client, OriginFailure, Request
from edgeinf.serve.origin.health import CLOSED
from edgeinf.serve.origin.load import read_figures
from edgeinf.serve.origin.region import Origin

if TYPE_CHECKING:
    from edgeinf.serve.runtime import Runtime

__all__ = ["Upkeep", "fetch", "own_headers"]

_log = logging.getLogger("edgeinf.regions")

_TICK_S = 1.0
_WARM_EVERY_S = 5.0
_LOAD_EVERY_S = 2.0
# Figures older than this many readings say nothing any more.
_STALE_READINGS = 3
_PATIENCE_S = 5.0
_MAX_PAGE = 4 * 2**20


class Upkeep:
    """Runs beside the server until it is cancelled."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._due: dict[tuple[str, str], float] = {}
        self._running: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._calls: dict[str, int] = {}
        self._unread: dict[str, int] = {}

    async def run(self) -> None:
        """Look after the regions for ever."""
        try:
            while True:
                self.tick()
                await asyncio.sleep(_TICK_S)
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)

    def tick(self) -> None:
        """Begin what is due."""
        generation = self._runtime.generation
        routing = generation.config.routing
        self._runtime.client.tidy()
        for origin in generation.origins:
            self._runtime.regions.state(origin).health.policy = routing.health
            if routing.prewarm:
                self._begin("warm", origin, _WARM_EVERY_S, self._warm, routing.prewarm)
            if routing.health.active is not None:
                every_s = routing.health.active.every
                self._begin("check", origin, every_s, self._check, routing.health.active.path, every_s)
            if origin.load is not None:
                self._begin("load", origin, _LOAD_EVERY_S, self._read_load)

    def _begin(self, kind: str, origin: Origin, every_s: float, work: object, *given: object) -> None:
        name, now = (kind, origin.name), self._runtime.clock.monotonic()
        if now < self._due.get(name, 0.0) or name in self._running:
            return
        self._due[name] = now + every_s
        task = asyncio.ensure_future(self._guarded(work(origin, *given)))  # type: ignore[operator]
        self._running[name] = task
        task.add_done_callback(lambda _: self._running.pop(name, None))

    async def _guarded(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception:
            _log.exception("a bug while looking after a region")

    async def _warm(self, origin: Origin, count: int) -> None:
        try:
            await self._runtime.client.warm(origin.base, count, http2=origin.http2)
        except OriginFailure:
            pass  # a call will find out, or an active check

    async def _check(self, origin: Origin, path: str, every_s: float) -> None:
        """Ask a region that nobody else has asked since, or that is left out."""
        state, clock = self._runtime.regions.state(origin), self._runtime.clock
        asked = self._calls.get(origin.name, 0) != state.calls
        self._calls[origin.name] = state.calls
        if asked and state.health.state(clock.monotonic()) == CLOSED:
            return
        client, headers = self._runtime.client, own_headers(origin)
        url = origin.url(f"/v1/{path.lstrip('/')}", "")
        try:
            status, _ = await fetch(client, url, headers, origin.timeouts.connect, http2=origin.http2)
        except (OriginFailure, TimeoutError):
            status = 0
        # A refusal is an answer: without a credential of its own a region says 401 and is there all the same.
        state.health.check(clock.monotonic(), passed=200 <= status < 500)

    async def _read_load(self, origin: Origin) -> None:
        assert origin.load is not None
        state = self._runtime.regions.state(origin)
        # Metrics pages are commonly elsewhere, so the region's credential goes along only to the region's own host.
        home = f"{urlsplit(origin.load.metrics).scheme}://{urlsplit(origin.load.metrics).netloc}".lower()
        headers = own_headers(origin) if home == origin.site else []
        try:
            status, body = await fetch(self._runtime.client, origin.load.metrics, headers, origin.timeouts.connect)
        except (OriginFailure, TimeoutError):
            status, body = 0, b""
        if status == 200:
            self._unread[origin.name] = 0
            state.figures = read_figures(body.decode("utf-8", "replace"), origin.load.kind)
            return
        self._unread[origin.name] = self._unread.get(origin.name, 0) + 1
        if self._unread[origin.name] >= _STALE_READINGS:
            state.figures = None


def own_headers(origin: Origin) -> Headers:
    """Return the headers of a request of our own: the region's, and its credential in both customary forms."""
    headers: Headers = [(b"accept", b"*/*"), (b"accept-encoding", b"identity"), *origin.headers]
    if origin.credential is not None:
        key = origin.credential.encode("latin-1", "replace")
        headers.append((b"authorization", b"Bearer " + key))
        if "anthropic" in origin.families:
            headers += [(b"x-api-key", key), (b"anthropic-version", b"2023-06-01")]
    return headers


async def fetch(
    client: Client,
    url: str,
    headers: Headers,
    connect_s: float,
    *,
    method: str = "GET",
    body: bytes = b"",
    patience_s: float = _PATIENCE_S,
    http2: bool = False,
) -> tuple[int, bytes]:
    """Return status and body of a small request of our own. Raise OriginFailure, TimeoutError."""
    async with asyncio.timeout(connect_s + patience_s):
        request = Request(method=method, url=url, headers=headers, body=body, connect_timeout_s=connect_s, http2=http2)
        response = await client.send(request)
        try:
            parts: list[bytes] = []
            size = 0
            while (part := await response.read()) is not None:
                size += len(part)
                if size > _MAX_PAGE:
                    break
                parts.append(part)
            return response.status, b"".join(parts)
        finally:
            response.close()
