"""Messages between two processes of one host, over a socket pair: ask and be answered, or just tell.

A frame is its length (4 bytes, big endian) and MessagePack ``[id, name, body]``: a positive id asks, 0 tells, a
negative one answers, and then a name says what went wrong.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar, cast

import msgspec

__all__ = ["Handler", "Link", "LinkDown", "connect"]

_log = logging.getLogger("edgeinf.fleet")

T = TypeVar("T")

Handler = Callable[["Link", msgspec.Raw], Awaitable[Any] | Any]

_PATIENCE_S = 10.0


class LinkDown(Exception):
    """The other process is gone, or does not answer."""


class _Frame(msgspec.Struct, array_like=True):
    id: int
    name: str
    body: msgspec.Raw


_decode_frame = msgspec.msgpack.Decoder(_Frame).decode
_encode = msgspec.msgpack.Encoder().encode


class Link(asyncio.Protocol):
    """One end. ``handlers`` answer what the other end asks or tells; a handler may be a coroutine function."""

    def __init__(self, handlers: Mapping[str, Handler], *, on_lost: Callable[[Link], None] | None = None) -> None:
        self._handlers = handlers
        self._on_lost = on_lost
        self._transport: asyncio.Transport | None = None
        self._buffer = bytearray()
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[msgspec.Raw]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.down = False

    async def ask(self, name: str, body: Any, kind: type[T], *, timeout_s: float = _PATIENCE_S) -> T:
        """Return the other end's answer. Raise LinkDown."""
        if self.down or self._transport is None:
            raise LinkDown("the other process is gone")
        number = next(self._numbers)
        future: asyncio.Future[msgspec.Raw] = asyncio.get_running_loop().create_future()
        self._asked[number] = future
        try:
            self._send(number, name, body)
            async with asyncio.timeout(timeout_s):
                raw = await future
        except TimeoutError:
            raise LinkDown(f"no answer to {name!r} within {timeout_s:g} s") from None
        finally:
            self._asked.pop(number, None)
        return msgspec.msgpack.decode(raw, type=kind)

    def tell(self, name: str, body: Any) -> None:
        """Send without waiting; nothing happens where the other end is gone."""
        if not self.down and self._transport is not None:
            self._send(0, name, body)

    def close(self) -> None:
        """Close this end."""
        if self._transport is not None:
            self._transport.close()

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one without saying so

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer
        buffer += data
        while len(buffer) >= 4:
            end = 4 + int.from_bytes(buffer[:4], "big")
            if len(buffer) < end:
                return
            frame = _decode_frame(bytes(buffer[4:end]))
            del buffer[:end]
            self._take(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self.down = True
        self._transport = None
        for future in self._asked.values():
            if not future.done():
                future.set_exception(LinkDown("the other process is gone"))
        if self._on_lost is not None:
            self._on_lost(self)

    # --- frames ---

    def _send(self, number: int, name: str, body: Any) -> None:
        assert self._transport is not None
        payload = _encode([number, name, body])
        self._transport.write(len(payload).to_bytes(4, "big") + payload)

    def _take(self, frame: _Frame) -> None:
        if frame.id < 0:
            future = self._asked.get(-frame.id)
            if future is not None and not future.done():
                if frame.name:
                    future.set_exception(LinkDown(frame.name))
                else:
                    future.set_result(frame.body)
            return
        try:
            handler = self._handlers[frame.name]
            result = handler(self, frame.body)
        except Exception as error:
            self._failed(frame, error)
            return
        if inspect.isawaitable(result):
            task = asyncio.ensure_future(self._finish(frame, result))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif frame.id and not self.down:
            self._send(-frame.id, "", result)

    async def _finish(self, frame: _Frame, result: Awaitable[Any]) -> None:
        try:
            body = await result
        except Exception as error:
            self._failed(frame, error)
            return
        if frame.id and not self.down:
            self._send(-frame.id, "", body)

    def _failed(self, frame: _Frame, error: Exception) -> None:
        if not isinstance(error, LinkDown):
            _log.error("a bug while handling %r between processes", frame.name, exc_info=error)
        if frame.id and not self.down:
            self._send(-frame.id, f"{type(error).__name__}: {error}", None)


async def connect(
    sock: socket.socket, handlers: Mapping[str, Handler], *, on_lost: Callable[[Link], None] | None = None
) -> Link:
    """Return a link over one end of a socket pair."""
    sock.setblocking(False)
    link = Link(handlers, on_lost=on_lost)
    await asyncio.get_running_loop().create_connection(lambda: link, sock=sock)
    return link
