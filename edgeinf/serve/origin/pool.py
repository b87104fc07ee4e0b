"""The relay client: a pool of connections per origin.

Measured on one core beside aiohttp and a Rust client (``tests/benchmarks/relay.py``): the fewest microseconds per
request, the first chunk on the loop turn it arrives, and a cancel that reaches the origin at once.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import deque
from collections.abc import Callable

from edgeinf.serve.origin.address import Address, locate
from edgeinf.serve.origin.client import Client, ConnectionLost, Request, Response
from edgeinf.serve.origin.connection import Connection
from edgeinf.serve.origin.dialling import Resolve, reach, resolve, tls_contexts
from edgeinf.serve.origin.keeping import MAX_AGE_S, MAX_IDLE_S, RACE_S

__all__ = ["Connections"]

_MAX_IDLE = 256


class _Answer:
    """A connection lent to one reader."""

    __slots__ = ("_connection", "_pool", "headers", "status")

    def __init__(self, connection: Connection, pool: _Pool) -> None:
        self._connection: Connection | None = connection
        self._pool = pool
        self.status = connection.status
        self.headers = connection.headers

    async def read(self) -> bytes | None:
        connection = self._connection
        if connection is None:
            return None
        try:
            data = await connection.read()
        except BaseException:
            self.close()
            raise
        if data is None:
            self.close()
        return data

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            self._pool.give_back(connection)


class _Pool:
    """The connections to one scheme, host and port."""

    def __init__(
        self, address: Address, context: ssl.SSLContext | None, now: Callable[[], float], resolve: Resolve
    ) -> None:
        self._host, self._port, self._ssl, self._now, self._resolve = address.host, address.port, context, now, resolve
        self.authority = address.authority
        self.idle: deque[Connection] = deque()  # the longest unused first
        self.busy: set[Connection] = set()

    async def take(self, timeout_s: float, *, fresh: bool) -> Connection:
        while self.idle and not fresh:
            connection = self.idle.pop()
            connection.on_idle_lost = None
            if self._usable(connection):
                self.busy.add(connection)
                return connection
            connection.abort()
        connection = await self.connect(timeout_s)
        self.busy.add(connection)
        return connection

    async def connect(self, timeout_s: float) -> Connection:
        loop = asyncio.get_running_loop()
        return await reach(
            lambda: Connection(loop, self._now), self._host, self._port, self._ssl, timeout_s, resolve=self._resolve
        )

    def give_back(self, connection: Connection) -> None:
        self.busy.discard(connection)
        if connection.reusable and self._now() - connection.born < MAX_AGE_S:
            connection.idle_since = self._now()
            self.keep(connection)
        else:
            connection.abort()
        self.tidy()

    def keep(self, connection: Connection, *, last: bool = True) -> None:
        connection.kept = True
        connection.on_idle_lost = self._lost
        if last:
            self.idle.append(connection)
        else:
            self.idle.appendleft(connection)

    def _lost(self, connection: Connection) -> None:
        connection.on_idle_lost = None
        if connection in self.idle:
            self.idle.remove(connection)

    async def warm(self, count: int) -> int:
        self.tidy()
        fresh = [c for c in self.idle if self._usable(c)]
        for _ in range(count - len(fresh)):
            self.keep(await self.connect(5.0), last=False)
        return len(self.idle)

    def tidy(self) -> None:
        """Close what will not be used again."""
        while self.idle and (len(self.idle) > _MAX_IDLE or not self._usable(self.idle[0])):
            connection = self.idle.popleft()
            connection.on_idle_lost = None
            connection.abort()

    def _usable(self, connection: Connection) -> bool:
        now = self._now()
        return connection.open and now - connection.idle_since < MAX_IDLE_S and now - connection.born < MAX_AGE_S

    def close(self) -> None:
        for connection in (*self.idle, *self.busy):
            connection.on_idle_lost = None
            connection.abort()
        self.idle.clear()
        self.busy.clear()


class Connections:
    """A :class:`~edgeinf.serve.origin.client.Client` with one pool per origin."""

    def __init__(
        self, *, ca_file: str | None = None, now: Callable[[], float] = time.monotonic, resolve: Resolve = resolve
    ) -> None:
        self._ca_file = ca_file
        self._tls = tls_contexts(ca_file)
        self._now = now
        self._resolve = resolve
        self._http2: Client | None = None
        self._pools: dict[tuple[str, str, int], _Pool] = {}
        self._split: dict[str, tuple[_Pool, bytes]] = {}

    async def send(self, request: Request) -> Response:
        if request.http2:
            return await self._over_http2().send(request)
        pool, target = self._locate(request.url)
        head = _head(request, pool.authority, target)
        fresh = False
        while True:
            connection = await pool.take(request.connect_timeout_s, fresh=fresh)
            kept = connection.kept
            try:
                await connection.exchange(head, request)
            except BaseException as error:
                pool.busy.discard(connection)
                connection.abort()
                # A kept connection that the origin closed just now: nothing was answered, so ask on a fresh one.
                raced = isinstance(error, ConnectionLost) and kept and connection.closed_idle(RACE_S)
                if raced and isinstance(request.body, bytes):
                    fresh = True
                    continue
                raise
            return _Answer(connection, pool)

    async def warm(self, url: str, count: int, *, http2: bool = False) -> int:
        if http2:
            return await self._over_http2().warm(url, count, http2=True)
        pool, _ = self._locate(url)
        return await pool.warm(count)

    def tidy(self) -> None:
        for pool in self._pools.values():
            pool.tidy()
        if self._http2 is not None:
            self._http2.tidy()

    async def aclose(self) -> None:
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()
        self._split.clear()
        if self._http2 is not None:
            await self._http2.aclose()
        await asyncio.sleep(0)

    def adopt(self, url: str, connection: Connection) -> None:
        """Keep a connection that was opened elsewhere."""
        self._locate(url)[0].keep(connection)

    def _over_http2(self) -> Client:
        if self._http2 is None:
            from edgeinf.serve.origin.http2.pool import Multiplexed  # only where a region asks for it

            self._http2 = Multiplexed(ca_file=self._ca_file, now=self._now, resolve=self._resolve)
        return self._http2

    def _locate(self, url: str) -> tuple[_Pool, bytes]:
        known = self._split.get(url)
        if known is not None:
            return known
        address = locate(url)
        pool = self._pools.get(address[:3])
        if pool is None:
            context = self._tls("http/1.1") if address.scheme == "https" else None
            pool = self._pools[address[:3]] = _Pool(address, context, self._now, self._resolve)
        located = (pool, address.target)
        if len(self._split) < 1024:
            self._split[url] = located
        return located


def _head(request: Request, authority: bytes, target: bytes) -> bytes:
    lines = [b"%b %b HTTP/1.1\r\nhost: %b\r\n" % (request.method.encode(), target, authority)]
    lines += [b"%b: %b\r\n" % pair for pair in request.headers]
    if not isinstance(request.body, bytes):
        lines.append(b"transfer-encoding: chunked\r\n")
    elif request.body or request.method in ("POST", "PUT", "PATCH"):
        lines.append(b"content-length: %d\r\n" % len(request.body))
    lines.append(b"\r\n")
    return b"".join(lines)
