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
from urllib.parse import urlsplit

from edgeinf.serve.origin.client import ConnectFailed, ConnectionLost, Request
from edgeinf.serve.origin.connection import Connection
from edgeinf.serve.origin.dialling import Resolve, dial, resolve

__all__ = ["Connections"]

# An idle connection is not used again after this long: origins and their balancers drop them at 60 s or more.
_MAX_IDLE_S = 45.0
# A connection is not used again when it is older than this, so that a changed DNS answer is followed.
_MAX_AGE_S = 300.0
_MAX_IDLE = 256
# A kept connection that the origin closes so soon after a request was written had been closed before it arrived.
_RACE_S = 1.0


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
        self,
        scheme: str,
        host: str,
        port: int,
        context: ssl.SSLContext | None,
        now: Callable[[], float],
        resolve: Resolve,
    ) -> None:
        self._host, self._port, self._ssl, self._now, self._resolve = host, port, context, now, resolve
        default = 443 if scheme == "https" else 80
        shown = f"[{host}]" if ":" in host else host
        authority = shown if port == default else f"{shown}:{port}"
        self.authority = authority.encode("ascii" if authority.isascii() else "idna")
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
        where = f"{self._host}:{self._port}"
        try:
            async with asyncio.timeout(timeout_s):
                return await dial(
                    lambda: Connection(loop, self._now), self._host, self._port, self._ssl, resolve=self._resolve
                )
        except TimeoutError:
            raise ConnectFailed(f"no connection to {where} within {timeout_s:g} s") from None
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", None) or error.reason or str(error)
            raise ConnectFailed(f"TLS with {where} failed: {reason}") from None
        except (OSError, UnicodeError) as error:
            raise ConnectFailed(f"cannot connect to {where}: {getattr(error, 'strerror', None) or error}") from None

    def give_back(self, connection: Connection) -> None:
        self.busy.discard(connection)
        if connection.reusable and self._now() - connection.born < _MAX_AGE_S:
            connection.idle_since = self._now()
            self._keep(connection)
        else:
            connection.abort()
        self.tidy()

    def _keep(self, connection: Connection, *, last: bool = True) -> None:
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
            self._keep(await self.connect(5.0), last=False)
        return len(self.idle)

    def tidy(self) -> None:
        """Close what will not be used again."""
        while self.idle and (len(self.idle) > _MAX_IDLE or not self._usable(self.idle[0])):
            connection = self.idle.popleft()
            connection.on_idle_lost = None
            connection.abort()

    def _usable(self, connection: Connection) -> bool:
        now = self._now()
        return connection.open and now - connection.idle_since < _MAX_IDLE_S and now - connection.born < _MAX_AGE_S

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
        self._now = now
        self._resolve = resolve
        self._context: ssl.SSLContext | None = None
        self._pools: dict[tuple[str, str, int], _Pool] = {}
        self._split: dict[str, tuple[_Pool, bytes]] = {}

    async def send(self, request: Request) -> _Answer:
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
                raced = isinstance(error, ConnectionLost) and kept and connection.closed_idle(_RACE_S)
                if raced and isinstance(request.body, bytes):
                    fresh = True
                    continue
                raise
            return _Answer(connection, pool)

    async def warm(self, url: str, count: int) -> int:
        pool, _ = self._locate(url)
        return await pool.warm(count)

    def tidy(self) -> None:
        for pool in self._pools.values():
            pool.tidy()

    async def aclose(self) -> None:
        for pool in self._pools.values():
            pool.close()
        self._pools.clear()
        self._split.clear()
        await asyncio.sleep(0)

    def _locate(self, url: str) -> tuple[_Pool, bytes]:
        known = self._split.get(url)
        if known is not None:
            return known
        parts = urlsplit(url)
        scheme, host = parts.scheme.lower(), parts.hostname or ""
        if scheme not in ("http", "https") or not host:
            raise ConnectFailed("the region's url is not http(s)")
        port = parts.port or (443 if scheme == "https" else 80)
        pool = self._pools.get((scheme, host, port))
        if pool is None:
            context = self._tls() if scheme == "https" else None
            pool = self._pools[(scheme, host, port)] = _Pool(scheme, host, port, context, self._now, self._resolve)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if not target.isascii() or not target.isprintable() or " " in target:
            raise ConnectFailed("the request's path or query holds characters that no request line can carry")
        located = (pool, target.encode("ascii"))
        if len(self._split) < 1024:
            self._split[url] = located
        return located

    def _tls(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = ssl.create_default_context(cafile=self._ca_file)
            self._context.set_alpn_protocols(["http/1.1"])
        return self._context


def _head(request: Request, authority: bytes, target: bytes) -> bytes:
    lines = [b"%b %b HTTP/1.1\r\nhost: %b\r\n" % (request.method.encode(), target, authority)]
    lines += [b"%b: %b\r\n" % pair for pair in request.headers]
    if not isinstance(request.body, bytes):
        lines.append(b"transfer-encoding: chunked\r\n")
    elif request.body or request.method in ("POST", "PUT", "PATCH"):
        lines.append(b"content-length: %d\r\n" % len(request.body))
    lines.append(b"\r\n")
    return b"".join(lines)
