"""An origin of raw bytes: what it says, and when it closes, is up to the test."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

from edgeinf.serve.origin.client import Request, Response

__all__ = ["RawOrigin", "body_of", "raw_origin", "request", "settle"]

Handle = Callable[["RawOrigin", asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class RawOrigin:
    """What connections did. ``closed`` counts those whose client has gone."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self.url = ""
        self.opened = 0
        self.closed = 0
        self.requests: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        self.writers.append(writer)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                await self._handle(self, reader, writer)
            with contextlib.suppress(ConnectionError):
                await reader.read()
        finally:
            self.closed += 1
            writer.transport.abort()

    async def read_request(self, reader: asyncio.StreamReader) -> bytes:
        """Read one request with a content-length, and remember it."""
        head = await reader.readuntil(b"\r\n\r\n")
        length = next((int(x[16:]) for x in head.lower().split(b"\r\n") if x.startswith(b"content-length: ")), 0)
        whole = head + await reader.readexactly(length)
        self.requests.append(whole)
        return whole

    async def until(self, condition: Callable[[], bool], within_s: float = 5.0) -> None:
        async with asyncio.timeout(within_s):
            while not condition():  # noqa: ASYNC110 - any condition, not one event
                await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def raw_origin(handle: Handle | bytes, *, end: bool = False) -> AsyncIterator[RawOrigin]:
    """Serve a handler, or the same bytes to every request, closing after the first if ``end``."""

    async def answer(origin: RawOrigin, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await origin.read_request(reader)
            assert isinstance(handle, bytes)
            writer.write(handle)
            await writer.drain()
            if end:
                writer.write_eof()
                return

    origin = RawOrigin(answer if isinstance(handle, bytes) else handle)
    server = await asyncio.start_server(origin.serve, "127.0.0.1", 0)
    origin.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield origin
    finally:
        await settle()
        server.close()
        for writer in origin.writers:
            writer.transport.abort()
        await origin.until(lambda: origin.closed == origin.opened)
        await asyncio.sleep(0)


async def settle() -> None:
    """Let connections that are accepted be made: asyncio leaves one open whose listener is closed in between."""
    for _ in range(5):
        await asyncio.sleep(0)


def request(origin: RawOrigin, method: str = "POST", path: str = "/v1/x", body: bytes = b"{}") -> Request:
    return Request(method=method, url=origin.url + path, headers=[(b"x-a", b"1")], body=body, connect_timeout_s=2.0)


async def body_of(response: Response) -> bytes:
    """Read an answer to its end."""
    parts = []
    while (part := await response.read()) is not None:
        parts.append(part)
    return b"".join(parts)
