"""A client of raw sockets, for tests that look at bytes and not at what a library made of them."""

from __future__ import annotations

import asyncio
import json
import zlib
from dataclasses import dataclass
from typing import Any

from edgeinf.mock import MockOrigin

__all__ = ["Reply", "ask", "chat", "messages", "read_reply", "request_bytes"]


@dataclass
class Reply:
    """A reply as it came. ``complete`` says whether the HTTP body ended as announced."""

    status: int
    headers: dict[str, str]
    body: bytes
    complete: bool
    error: str = ""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[str]:
        """The blocks between empty lines."""
        return [block for block in self.body.decode().split("\n\n") if block]

    @property
    def data(self) -> list[Any]:
        """The JSON of each event's data; ``[DONE]`` stays text."""
        lines = [line for event in self.events for line in event.split("\n") if line.startswith("data: ")]
        return [line[6:] if line[6:].startswith("[DONE]") else json.loads(line[6:]) for line in lines]

    @property
    def plain(self) -> bytes:
        return zlib.decompress(self.body, wbits=31) if self.headers.get("content-encoding") == "gzip" else self.body


def chat(**more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "hi"}], **more}


def messages(**more: Any) -> dict[str, Any]:
    return {"model": "c", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}], **more}


def request_bytes(method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> bytes:
    data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "host: mock", f"content-length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    return "\r\n".join([*lines, "", ""]).encode() + data


async def ask(
    origin: MockOrigin,
    path: str,
    body: Any = None,
    *,
    method: str | None = None,
    headers: dict[str, str] | None = None,
) -> Reply:
    """Send one request on a connection of its own and read until the reply or the connection ends."""
    reader, writer = await asyncio.open_connection(origin.host, origin.port)
    try:
        writer.write(request_bytes(method or ("GET" if body is None else "POST"), path, body, headers))
        return await asyncio.wait_for(read_reply(reader, bodyless=method == "HEAD"), 20)
    finally:
        writer.close()


async def read_reply(reader: asyncio.StreamReader, *, bodyless: bool = False) -> Reply:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionResetError) as error:
        return Reply(0, {}, getattr(error, "partial", b""), False, type(error).__name__)
    if not head.startswith(b"HTTP/1.1 "):
        return Reply(0, {}, head, False, "NotHttp")
    status_line, *lines = head.decode("latin-1").split("\r\n")[:-2]
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    status = int(status_line.split(" ")[1])
    if bodyless or status in (204, 304):
        return Reply(status, headers, b"", True)
    if status == 100:
        return await read_reply(reader)
    parts: list[bytes] = []
    try:
        complete = await _read_body(reader, headers, parts)
    except ConnectionResetError as error:
        return Reply(status, headers, b"".join(parts), False, type(error).__name__)
    return Reply(status, headers, b"".join(parts), complete)


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str], parts: list[bytes]) -> bool:
    if "content-length" in headers:
        left = int(headers["content-length"])
        while left > 0:
            part = await reader.read(left)
            if not part:
                return False
            parts.append(part)
            left -= len(part)
        return True
    if headers.get("transfer-encoding") != "chunked":
        parts.append(await reader.read())
        return True
    while True:
        line = await reader.readline()
        if not line:
            return False
        size = int(line, 16)
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
        if size == 0:
            return True
