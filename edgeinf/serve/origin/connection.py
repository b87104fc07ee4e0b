"""One HTTP/1.1 connection to an origin: asyncio transport, httptools parser, one request at a time.

It only relays: what a general client offers besides (redirects, cookies, decompression, proxies) must not happen
here. Framing follows RFC 9112; whatever leaves doubt about where an answer ends closes the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterable, Callable
from typing import cast

import httptools

from edgeinf.core.wire.headers import Headers
from edgeinf.serve.origin.client import ConnectionLost, Malformed, Request
from edgeinf.serve.origin.keeping import keep_alive

__all__ = ["Connection"]

# Unread bytes of one answer above which the socket is no longer read.
_HIGH = 256 * 1024
_MAX_HEAD = 64 * 1024


class Connection(asyncio.Protocol):
    """One connection; carries one request at a time and is its own response."""

    def __init__(self, loop: asyncio.AbstractEventLoop, now: Callable[[], float]) -> None:
        self._loop = loop
        self._now = now
        self.transport: asyncio.Transport | None = None
        self.born = self.idle_since = now()
        self.kept = False  # it has waited in a pool, so the origin may have closed it meanwhile
        self.lost: Exception | None = None
        self.on_idle_lost: Callable[[Connection], None] | None = None  # set while it waits in a pool
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
        self._half_sent = False
        self._sent_at = 0.0

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # uvloop's is one without saying so
        keep_alive(transport)

    def data_received(self, data: bytes) -> None:
        if self.lost is not None:
            return
        if self._complete or (self._head is None and not self._head_done):
            self._fail(Malformed("the origin sent bytes that nobody asked for"))
            return
        self._got_bytes = True
        if not self._head_done:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            self._fail(Malformed(f"the origin's answer is not HTTP: {error}"))
            return
        if not self._head_done and self._head_bytes > _MAX_HEAD:
            self._fail(Malformed("the origin's header section is too large"))

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)
        if self._head_done and not self._complete and self._until_close and exc is None and self.lost is None:
            self._complete = True  # framed by the connection's end, RFC 9112 section 6.3
            self._wake()
        elif not self._complete:
            self._fail(ConnectionLost(f"the origin closed the connection{f': {exc}' if exc else ''}"))
        if self.on_idle_lost is not None:
            self.on_idle_lost(self)

    def pause_writing(self) -> None:
        self._blocked = True
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        self._blocked = False
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)

    # --- httptools callbacks ---

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._head_done:  # what follows the body are trailers, which nobody asked for
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if self._head_done:
            return  # a second answer in the same breath, see on_message_complete
        status = self._parser.get_status_code()
        if status < 200:
            self.headers = []  # an interim answer, RFC 9110 section 15.2
            return
        self.status = status
        self._head_done = True
        names = {name for name, _ in self.headers}
        framed = b"content-length" in names or b"transfer-encoding" in names
        self._until_close = not framed and status not in (204, 304) and not self._bodyless
        if self._bodyless:
            self._complete = True  # the parser cannot know that no body follows, so the connection ends here
        if self._head is not None and not self._head.done():
            self._head.set_result(None)

    def on_body(self, body: bytes) -> None:
        if self._complete:
            self._reusable = False  # bytes beyond the answer's end: nobody asked for them
            return
        self._chunks.append(body)
        self._buffered += len(body)
        if self._buffered > _HIGH and not self._paused and self.transport is not None:
            self._paused = True
            self.transport.pause_reading()
        self._wake()

    def on_message_complete(self) -> None:
        if not self._head_done:
            return  # an interim answer ended
        if self._complete:
            self._reusable = False
            return
        self._complete = True
        self._reusable = bool(self._parser.should_keep_alive()) and not self._until_close
        self._wake()

    # --- one request ---

    async def exchange(self, head: bytes, request: Request) -> None:
        """Write a request and wait for the answer's head."""
        self._start()
        self._bodyless = request.method == "HEAD"
        if self.transport is None or self.lost is not None:
            raise ConnectionLost("the origin closed the connection")
        self._head = self._loop.create_future()
        self._sent_at = self._now()
        if isinstance(request.body, bytes):
            self.transport.write(head + request.body)
            await self._head
            return
        self.transport.write(head)
        self._half_sent = True
        sending = asyncio.ensure_future(self._send_stream(request.body))
        try:
            # An origin may answer (an error, mostly) before it has read everything.
            await asyncio.wait({sending, self._head}, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
            await self._head
        finally:
            sending.cancel()
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
            self._half_sent = False

    async def read(self) -> bytes | None:
        """Return what has arrived, waiting if nothing has; None at the end. Raise OriginFailure."""
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
    def open(self) -> bool:
        """Return whether the connection stands, as far as is known."""
        return self.transport is not None and self.lost is None and not self.transport.is_closing()

    @property
    def reusable(self) -> bool:
        """Return whether another request may follow on this connection."""
        return self._complete and self._reusable and not self._half_sent and not self._chunks and self.open

    def closed_idle(self, within_s: float) -> bool:
        """Return whether the origin closed it without a byte, just as a request was on its way."""
        return not self._got_bytes and self._now() - self._sent_at < within_s

    def abort(self) -> None:
        """Close at once, discarding what is unsent."""
        if self.transport is not None:
            self.transport.abort()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _fail(self, error: Exception) -> None:
        if self.lost is None:
            self.lost = error
        if self._head is not None and not self._head.done():
            self._head.set_exception(error)
            self._head.exception()  # taken note of even where nobody waits any more
        self._wake()
        self.abort()
