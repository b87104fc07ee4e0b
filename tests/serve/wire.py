"""A client of raw bytes: what is sent when, and what comes back, are the test's to decide and to see."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

__all__ = ["Answer", "Wire", "post", "wired"]

PATH = "/v1/chat/completions"


@dataclass(frozen=True)
class Answer:
    """An answer as it came. ``chunks`` are the sizes of its chunks; None where it came with its length."""

    status: int
    version: str
    headers: list[tuple[str, str]]
    body: bytes
    chunks: list[int] | None

    def header(self, name: str) -> str:
        """Return a header's only value, or nothing."""
        found = [value for known, value in self.headers if known == name]
        assert len(found) <= 1, f"{name} came {len(found)} times"
        return found[0] if found else ""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Wire:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, *pieces: bytes, pause_s: float = 0.0) -> None:
        """Send pieces, each in a packet of its own where there is a pause."""
        for number, piece in enumerate(pieces):
            if number:
                await asyncio.sleep(pause_s)
            self.writer.write(piece)
            await self.writer.drain()

    async def answer(self) -> Answer:
        """Read one answer, its body by how it is framed. Interim answers are passed over."""
        async with asyncio.timeout(30):
            while True:
                head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
                version, status, *_ = head[0].split(" ")
                if status != "100":
                    break
            pairs = [line.partition(": ")[::2] for line in head[1:]]
            headers = [(name.lower(), value) for name, value in pairs]
            named = dict(headers)
            if named.get("transfer-encoding") == "chunked":
                sizes, parts = [], []
                while size := int(await self.reader.readline(), 16):
                    sizes.append(size)
                    parts.append((await self.reader.readexactly(size + 2))[:-2])
                await self.reader.readexactly(2)
                return Answer(int(status), version, headers, b"".join(parts), sizes)
            if "content-length" in named:
                body = await self.reader.readexactly(int(named["content-length"]))
            else:
                body = await self.reader.read()
            return Answer(int(status), version, headers, body, None)

    async def ended(self) -> bytes:
        """Return what comes until the server closes."""
        async with asyncio.timeout(30):
            try:
                return await self.reader.read()
            except ConnectionError:
                return b""


def post(
    body: Any,
    *,
    path: str = PATH,
    headers: Iterable[tuple[str, str]] = (),
    length: bool = True,
    version: str = "1.1",
    host: str = "localhost",
) -> bytes:
    """Return a request's bytes."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"POST {path} HTTP/{version}", f"host: {host}", "content-type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers]
    if length:
        lines.append(f"content-length: {len(data)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + data


@contextlib.asynccontextmanager
async def wired(url: str) -> AsyncIterator[Wire]:
    """Open a connection to a server."""
    host, port = url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
