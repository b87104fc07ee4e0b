"""One request and its answer on a connection: uvicorn's cycle, with an answer's head and first bytes in one write.

ASGI lets a server keep the head of an answer back until the first of its body comes. Whoever follows the client can
also be called when it leaves, instead of waiting for it in a task of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from edgeinf.serve import http1

__all__ = ["EXTENSION", "Turn"]

# Under this name among a scope's extensions the application finds the turn itself.
EXTENSION = "edgeinf.turn"

_FRAMING = frozenset({b"content-length", b"transfer-encoding", b"connection"})
_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")


class Turn(RequestResponseCycle):
    """What an application answers through ``send``; headers that could break out of the head are refused."""

    asked: Any = None  # what the short way has found out about the request
    _gone: Callable[[], None] | None = None
    _head = b""
    _till_close = False  # HTTP/1.0 knows no chunks: what has no length ends with the connection

    async def run_asgi(self, app: Any) -> None:
        """Have the application answer. Afterwards nothing here refers to itself, so that no collector is needed."""
        try:
            await super().run_asgi(app)
        finally:
            self.asked = None
            self.scope.pop("extensions", None)

    async def send(self, message: Any) -> None:
        """Take the next message of the answer, waiting while the client does not read."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.start":
            if self.response_started:
                raise RuntimeError("an answer cannot start twice")
            self.response_started, self.waiting_for_100_continue = True, False
            self._head = self._headed(message["status"], [*self.default_headers, *message.get("headers", ())])
            return
        if not self.response_started or self.response_complete:
            raise RuntimeError("a body belongs between the start and the end of an answer")
        body, more = message.get("body", b""), message.get("more_body", False)
        head, self._head = self._head, b""
        self.transport.write(head + self._framed(body, more=more))
        if not more:
            if self.expected_content_length:
                raise RuntimeError("the answer is shorter than its content-length")
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()

    def follow(self, gone: Callable[[], None]) -> None:
        """Have ``gone`` called once when the client leaves; soon, where it has left already."""
        self._gone = gone
        self.flow.resume_reading()  # an end that is not read is not noticed
        if self.disconnected:
            asyncio.get_running_loop().call_soon(self.left)

    def unfollow(self) -> None:
        """Call nobody."""
        self._gone = None

    def left(self) -> None:
        """Tell whoever follows the client that it is gone."""
        gone, self._gone = self._gone, None
        if gone is not None:
            gone()

    def _framed(self, body: bytes, *, more: bool) -> bytes:
        if self.scope["method"] == "HEAD":
            self.expected_content_length = 0
            return b""
        if self.chunked_encoding:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return chunk if more else chunk + b"0\r\n\r\n"
        if self._till_close:
            return body
        self.expected_content_length -= len(body)
        if self.expected_content_length < 0:
            raise RuntimeError("the answer is longer than its content-length")
        return body

    def _headed(self, status: int, headers: list[tuple[bytes, bytes]]) -> bytes:
        bodiless = self.scope["method"] == "HEAD" or status in (204, 304)
        closes = False
        for name, value in headers:
            if name not in _FRAMING:
                if not _is_token(name):
                    raise RuntimeError("a header's name is no token")
            elif name == b"content-length":
                self.expected_content_length = 0 if bodiless else int(value)
                self.chunked_encoding = False
            elif name == b"transfer-encoding":
                self.chunked_encoding = value.lower() == b"chunked" or self.chunked_encoding
            elif b"close" in value.lower():
                closes = True
        lines = http1.lines(headers)
        if lines.count(b"\n") != len(headers) or lines.count(b"\r") != len(headers) or b"\0" in lines:
            raise RuntimeError("a header's value holds the end of a line")
        if closes:
            self.keep_alive = False
        elif not self.keep_alive:
            lines += b"connection: close\r\n"
        if self.chunked_encoding is None and not bodiless:
            self._till_close = self.scope["http_version"] == "1.0"
            self.chunked_encoding = not self._till_close
            lines += b"" if self._till_close else b"transfer-encoding: chunked\r\n"
        return b"%b%b\r\n" % (http1.status_line(status), lines)


@lru_cache(maxsize=1024)
def _is_token(name: bytes) -> bool:
    return bool(name) and not set(name) - _TOKEN
