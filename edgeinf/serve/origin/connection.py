"""The relay client: HTTP/1.1 over asyncio transports, parsed by httptools, one connection per request at a time.

Measured on one core beside aiohttp and a Rust client (``tests/benchmarks/relay.py``): the fewest microseconds per
request, the first chunk on the loop turn it arrives, and a cancel that reaches the origin at once. It only relays:
what a general client offers besides (redirects, cookies, decompression, proxies) must not happen here.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections import deque
from collections.abc import AsyncIterable
from urllib.parse import urlsplit

import httptools

from edgeinf.core.wire.headers import Headers
from edgeinf.serve.origin.client import ConnectFailed, ConnectionLost, Malformed, Request

__all__ = ["Connections"]

# Unread bytes of one answer above which the socket is no longer read, and below which it is again.
_HIGH, _LOW = 256 * 1024, 64 * 1024
_MAX_HEAD = 64 * 1024
# An idle connection is not used again after this long: origins and their balancers drop them at 60 s or more.
_MAX_IDLE_S = 45.0
# A connection is not kept longer than this, so that a changed DNS answer is followed.
_MAX_AGE_S = 300.0


class _Connection(asyncio.Protocol):
    """One connection; carries one request at a time and is its own response."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.transport: asyncio.Transport | None = None
        self.born = self.idle_since = time.monotonic()
        self.requests = 0
        self.lost: Exception | None = None
        self._writable: asyncio.Future[None] | None = None
        self._blocked = False
        self._start()

    def _start(self) -> None:
        self.status = 0
        self.headers: Headers = []
        self._parser = httptools.HttpResponseParser(self)
        self._head: asyncio.Future[None] | None = None
        self._chunks: deque[bytes] = deque()
        self._buffered = 0
        self._waiter: asyncio.Future[None] | None = None
        self._complete = False
        self._paused = False
        self._got_bytes = False
        self._head_bytes = 0
        self._head_done = False
        self._reusable = False
        self._until_close = False
        self._bodyless = False

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self._complete or (self._head is None and not self._head_done):
            self._fail(Malformed("the origin sent bytes that nobody asked for"))
            return
        self._got_bytes = True
        if not self._head_done:
            self._head_bytes += len(data)
            if self._head_bytes > _MAX_HEAD + len(data):
                self._fail(Malformed("the origin's header section is too large"))
                return
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(Malformed(f"the origin's answer is not HTTP: {error}"))

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if self._blocked and self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        if self._head_done and not self._complete and self._until_close and exc is None:
            self._complete = True  # framed by the connection's end, RFC 9112 section 6.3
            self._wake()
        elif not self._complete:
            self._fail(ConnectionLost(f"the origin closed the connection{f': {exc}' if exc else ''}"))

    def pause_writing(self) -> None:
        self._blocked = True
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        self._blocked = False
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)

    # --- httptools callbacks ---

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < 200:
            self.headers = []  # an interim answer, RFC 9110 section 15.2
            return
        self.status = status
        self._head_done = True
        names = {name for name, _ in self.headers}
        framed = b"content-length" in names or b"transfer-encoding" in names
        self._until_close = not framed and status not in (204, 304) and not self._bodyless
        if self._head is not None and not self._head.done():
            self._head.set_result(None)

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)
        self._buffered += len(body)
        if self._buffered > _HIGH and not self._paused and self.transport is not None:
            self._paused = True
            self.transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        if not self._head_done:
            return  # an interim answer ended
        self._complete = True
        self._reusable = bool(self._parser.should_keep_alive()) and not self._until_close
        self._wake()

    # --- one request ---

    async def exchange(self, head: bytes, request: Request) -> None:
        """Write a request and wait for the answer's head."""
        self._start()
        self.requests += 1
        self._bodyless = request.method == "HEAD"
        if self.transport is None:
            raise ConnectionLost("the origin closed the connection")
        self._head = self._loop.create_future()
        if isinstance(request.body, bytes):
            self.transport.write(head + request.body)
            await self._head
            return
        self.transport.write(head)
        sending = asyncio.ensure_future(self._send_stream(request.body))
        try:
            # An origin may answer (an error, mostly) before it has read everything.
            await asyncio.wait({sending, self._head}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done() and sending.exception() is not None:
                sending.result()
            await self._head
        finally:
            if not sending.done():
                sending.cancel()
                self._reusable = False
                self._until_close = self._until_close or False
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await sending

    async def _send_stream(self, body: AsyncIterable[bytes]) -> None:
        async for chunk in body:
            if self.transport is None:
                return
            if chunk:
                self.transport.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
            if self._blocked and self._writable is not None:
                await self._writable
        if self.transport is not None:
            self.transport.write(b"0\r\n\r\n")

    async def read(self) -> bytes | None:
        while not self._chunks:
            if self._complete:
                return None
            if self.lost is not None:
                raise self.lost
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        data = self._chunks.popleft() if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._buffered = 0
        if self._paused and self.transport is not None:
            self._paused = False
            self.transport.resume_reading()
        return data

    @property
    def reusable(self) -> bool:
        """Return whether another request may follow on this connection."""
        return self._complete and self._reusable and not self._chunks and self.usable

    @property
    def usable(self) -> bool:
        """Return whether the connection is open and not too old."""
        now = time.monotonic()
        return (
            self.transport is not None
            and self.lost is None
            and not self.transport.is_closing()
            and now - self.idle_since < _MAX_IDLE_S
            and now - self.born < _MAX_AGE_S
        )

    @property
    def untouched(self) -> bool:
        """Return whether not one byte of an answer arrived."""
        return not self._got_bytes

    def abort(self) -> None:
        """Close at once, discarding what is unsent."""
        if self.transport is not None:
            self.transport.abort()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        self.lost = error
        if self._head is not None and not self._head.done():
            self._head.set_exception(error)
            self._head.exception()  # taken note of even where nobody waits any more
        self._wake()
        self.abort()


class _Answer:
    """A connection lent to one reader."""

    __slots__ = ("_connection", "_pool", "headers", "status")

    def __init__(self, connection: _Connection, pool: _Pool) -> None:
        self._connection: _Connection | None = connection
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

    def __init__(self, scheme: str, host: str, port: int, context: ssl.SSLContext | None) -> None:
        self._host, self._port, self._ssl = host, port, context
        default = 443 if scheme == "https" else 80
        shown = f"[{host}]" if ":" in host else host
        self.authority = (shown if port == default else f"{shown}:{port}").encode()
        self.idle: deque[_Connection] = deque()
        self.busy: set[_Connection] = set()

    async def take(self, timeout_s: float, *, fresh: bool) -> _Connection:
        while self.idle and not fresh:
            connection = self.idle.pop()
            if connection.usable:
                self.busy.add(connection)
                return connection
            connection.abort()
        connection = await self.connect(timeout_s)
        self.busy.add(connection)
        return connection

    async def connect(self, timeout_s: float) -> _Connection:
        loop = asyncio.get_running_loop()
        where = f"{self._host}:{self._port}"
        try:
            async with asyncio.timeout(timeout_s):
                _, connection = await loop.create_connection(
                    lambda: _Connection(loop),
                    self._host,
                    self._port,
                    ssl=self._ssl,
                    server_hostname=self._host if self._ssl else None,
                )
        except TimeoutError:
            raise ConnectFailed(f"no connection to {where} within {timeout_s:g} s") from None
        except ssl.SSLError as error:
            reason = getattr(error, "verify_message", None) or error.reason or str(error)
            raise ConnectFailed(f"TLS with {where} failed: {reason}") from None
        except OSError as error:
            raise ConnectFailed(f"cannot connect to {where}: {error.strerror or error}") from None
        return connection

    def give_back(self, connection: _Connection) -> None:
        self.busy.discard(connection)
        if connection.reusable:
            connection.idle_since = time.monotonic()
            self.idle.append(connection)
        else:
            connection.abort()

    def close(self) -> None:
        for connection in (*self.idle, *self.busy):
            connection.abort()
        self.idle.clear()
        self.busy.clear()


class Connections:
    """A :class:`~edgeinf.serve.origin.client.Client` with one pool per origin."""

    def __init__(self, *, ca_file: str | None = None) -> None:
        self._ca_file = ca_file
        self._context: ssl.SSLContext | None = None
        self._pools: dict[tuple[str, str, int], _Pool] = {}
        self._split: dict[str, tuple[_Pool, bytes]] = {}

    async def send(self, request: Request) -> _Answer:
        pool, target = self._locate(request.url)
        head = _head(request, pool.authority, target)
        fresh = False
        while True:
            connection = await pool.take(request.connect_timeout_s, fresh=fresh)
            reused = connection.requests > 0
            try:
                await connection.exchange(head, request)
            except BaseException as error:
                pool.busy.discard(connection)
                connection.abort()
                # A kept connection that the origin closed just now: nothing was answered, so ask on a fresh one.
                again = isinstance(error, ConnectionLost) and reused and connection.untouched
                if again and isinstance(request.body, bytes):
                    fresh = True
                    continue
                raise
            return _Answer(connection, pool)

    async def warm(self, url: str, count: int) -> int:
        pool, _ = self._locate(url)
        while pool.idle and not pool.idle[0].usable:
            pool.idle.popleft().abort()
        while len(pool.idle) < count:
            pool.idle.appendleft(await pool.connect(5.0))
        return len(pool.idle)

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
            pool = self._pools[(scheme, host, port)] = _Pool(scheme, host, port, context)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
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
