"""The relay client for regions with ``http2: true``: few connections per origin, shared by all requests to it.

ALPN chooses: an origin that does not speak HTTP/2 is asked over HTTP/1.1, and offered HTTP/2 anew after a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator

import msgspec

from edgeinf.core.wire.headers import Headers
from edgeinf.serve.origin.address import Address, locate
from edgeinf.serve.origin.client import ConnectFailed, Request, Response
from edgeinf.serve.origin.connection import Connection
from edgeinf.serve.origin.dialling import Resolve, TlsContexts, reach, resolve, tls_contexts
from edgeinf.serve.origin.http2.connection import FIRST_LIMIT, Http2Connection
from edgeinf.serve.origin.http2.stream import NotProcessed
from edgeinf.serve.origin.keeping import MAX_AGE_S, MAX_IDLE_S
from edgeinf.serve.origin.pool import Connections

__all__ = ["Multiplexed"]

# So often a request goes out that the origin has not looked at.
_TRIES = 3
# A connection is replaced so long before it is too old, where connections are kept warm.
_AHEAD_S = 15.0
_WARM_S = 5.0


class _Negotiated(asyncio.Protocol):
    """Becomes what the handshake agreed on."""

    def __init__(self, now: Callable[[], float], limit: int) -> None:
        self._now = now
        self._limit = limit  # what the origin allowed on another connection, until it says what it does on this one
        self.transport: asyncio.BaseTransport | None = None
        self.speaks: Http2Connection | Connection | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        tls = transport.get_extra_info("ssl_object")
        chosen = None if tls is None else tls.selected_alpn_protocol()
        loop = asyncio.get_running_loop()
        if chosen == "h2":
            self.speaks = Http2Connection(loop, self._now, self._limit)
        else:
            self.speaks = Connection(loop, self._now)
        transport.set_protocol(self.speaks)
        self.speaks.connection_made(transport)


class _Shared:
    """The HTTP/2 connections to one host and port."""

    def __init__(self, address: Address, tls: TlsContexts, now: Callable[[], float], resolve: Resolve) -> None:
        self._address, self._tls, self._now, self._resolve = address, tls, now, resolve
        self.connections: list[Http2Connection] = []  # the oldest first
        self.plain_until = 0.0  # until then the origin is taken to speak HTTP/1.1 only
        self.spoken: list[Connection] = []  # HTTP/1.1 connections that an offer of HTTP/2 ended in
        self._dials: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._limit = FIRST_LIMIT  # requests that fit on one connection, as far as is known

    def is_plain(self) -> bool:
        return self._now() < self.plain_until

    def turn_plain(self) -> None:
        """Ask over HTTP/1.1 for as long as a connection would be used."""
        self.plain_until = self._now() + MAX_AGE_S

    async def take(self, timeout_s: float) -> Http2Connection | None:
        """Return a connection with room for a request; None where the origin speaks HTTP/1.1."""
        found = None if self.is_plain() else self._roomy()
        if found is not None or self.is_plain():
            return found
        try:
            async with asyncio.timeout(timeout_s):
                with self._waiting_too():
                    while not self.is_plain():
                        await self._next_dial(timeout_s)
                        found = self._roomy()
                        if found is not None:
                            return found
                        if not self.is_plain() and not any(
                            self._usable(c, self._now()) and c.limit for c in self.connections
                        ):
                            raise ConnectFailed("the origin takes no requests on its connections")
                    return None
        except TimeoutError:
            where = f"{self._address.host}:{self._address.port}"
            raise ConnectFailed(f"no connection to {where} within {timeout_s:g} s") from None

    @contextlib.contextmanager
    def _waiting_too(self) -> Iterator[None]:
        """Count among those for whom connections are opened; the last to leave ends what is still being opened."""
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self._give_up()

    def _give_up(self) -> None:
        for task in self._dials:
            task.cancel()
        self._dials = set()  # whoever comes next waits for none of them

    async def _next_dial(self, timeout_s: float) -> None:
        """Wait until one of the connections stands that those who wait need. Raise ConnectFailed."""
        self._begin_dials(timeout_s)
        done, _ = await asyncio.wait(self._dials, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            error = None if task.cancelled() else task.exception()
            if error is not None:
                raise ConnectFailed(str(error)) from None

    def _begin_dials(self, timeout_s: float) -> None:
        """Open as many connections as those who wait need."""
        self.tidy()
        wanted = -(-self._waiting // max(1, self._limit))
        while len(self._dials) < wanted:
            task = asyncio.ensure_future(self._dial(timeout_s))
            self._dials.add(task)
            task.add_done_callback(self._dialled)

    def _dialled(self, task: asyncio.Task[None]) -> None:
        self._dials.discard(task)
        if not task.cancelled():
            task.exception()  # taken note of even where nobody waits any more

    async def _dial(self, timeout_s: float) -> None:
        context = self._tls("h2", "http/1.1")
        host, port = self._address.host, self._address.port
        limit = max(1, self._limit)
        made = await reach(lambda: _Negotiated(self._now, limit), host, port, context, timeout_s, resolve=self._resolve)
        if isinstance(made.speaks, Http2Connection):
            self.plain_until = 0.0
            made.speaks.on_idle = self.tidy
            self.connections.append(made.speaks)
        elif made.speaks is not None:
            self.turn_plain()
            self.spoken.append(made.speaks)

    def _roomy(self) -> Http2Connection | None:
        now = self._now()
        for connection in self.connections:
            if self._usable(connection, now) and len(connection.streams) < connection.limit:
                return connection
        return None

    def _usable(self, connection: Http2Connection, now: float, ahead_s: float = 0.0) -> bool:
        rested = bool(connection.streams) or now - connection.idle_since < MAX_IDLE_S
        young = now - connection.born < MAX_AGE_S - ahead_s
        willing = not connection.retired and not connection.doubted and now >= connection.rests_until
        return connection.open and rested and young and willing

    async def warm(self) -> int:
        self.tidy()
        now = self._now()
        if not any(self._usable(connection, now, _AHEAD_S) for connection in self.connections):
            with self._waiting_too():
                await self._next_dial(_WARM_S)
            for connection in self.connections:
                connection.kept = True
        return len(self.connections)

    def tidy(self) -> None:
        """Close what will not be used again, and look after what is silent."""
        now = self._now()
        for connection in list(self.connections):
            connection.tend()
            if connection.open and not connection.retired:
                self._limit = connection.limit
                idle = not connection.streams and now - connection.idle_since >= MAX_IDLE_S
                if idle or now - connection.born >= MAX_AGE_S:
                    connection.retire()
        self.connections = [connection for connection in self.connections if connection.open]

    def close(self) -> None:
        self._give_up()
        for connection in self.connections:
            connection.on_idle = None
            connection.close()
        for plain in self.spoken:
            plain.abort()
        self.connections.clear()


class Multiplexed:
    """A :class:`~edgeinf.serve.origin.client.Client` that asks over HTTP/2 where the origin speaks it."""

    def __init__(
        self, *, ca_file: str | None = None, now: Callable[[], float] = time.monotonic, resolve: Resolve = resolve
    ) -> None:
        self._tls, self._now, self._resolve = tls_contexts(ca_file), now, resolve
        self._plain = Connections(ca_file=ca_file, now=now, resolve=resolve)
        self._pools: dict[tuple[str, int], _Shared] = {}
        self._located: dict[str, tuple[_Shared | None, Address]] = {}

    async def send(self, request: Request) -> Response:
        pool, address = self._locate(request.url)
        head: Headers = [
            (b":method", request.method.encode()),
            (b":scheme", b"https"),
            (b":authority", address.authority),
            (b":path", address.target),
        ]
        tries = _TRIES if isinstance(request.body, bytes) else 1
        while pool is not None:
            connection = await pool.take(request.connect_timeout_s)
            if connection is None:
                break
            try:
                return await connection.ask(head, request)
            except NotProcessed:
                if connection.unwelcome:
                    pool.turn_plain()
                    connection.retire()
                tries -= 1
                if not tries:
                    raise
        self._adopt(request.url, pool)
        return await self._plain.send(msgspec.structs.replace(request, http2=False))

    async def warm(self, url: str, count: int, *, http2: bool = True) -> int:
        pool, _ = self._locate(url)
        if pool is not None and count and not pool.is_plain():
            warm = await pool.warm()
            if not pool.is_plain():
                return warm
        self._adopt(url, pool)
        return await self._plain.warm(url, count)

    def tidy(self) -> None:
        for pool in self._pools.values():
            pool.tidy()
        self._plain.tidy()

    async def aclose(self) -> None:
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()
        self._located.clear()
        await self._plain.aclose()

    def _adopt(self, url: str, pool: _Shared | None) -> None:
        while pool is not None and pool.spoken:
            self._plain.adopt(url, pool.spoken.pop())

    def _locate(self, url: str) -> tuple[_Shared | None, Address]:
        known = self._located.get(url)
        if known is not None:
            return known
        address = locate(url)
        pool: _Shared | None = None
        if address.scheme == "https":
            name = address.host, address.port
            pool = self._pools.get(name)
            if pool is None:
                pool = self._pools[name] = _Shared(address, self._tls, self._now, self._resolve)
        if len(self._located) < 1024:
            self._located[url] = (pool, address)
        return pool, address
