"""An origin that speaks HTTP/2 over TLS and does what a test says, right or wrong."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import cast

from h2 import events
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.exceptions import H2Error, ProtocolError
from h2.settings import SettingCodes, Settings
from hyperframe.frame import GoAwayFrame

from edgeinf.mock.tls import server_context
from edgeinf.serve.origin.client import Request
from tests.serve.origin.raw import settle

__all__ = ["Asked", "Peer", "Scripted", "request", "scripted"]

Handle = Callable[["Asked"], Awaitable[None]]


class Asked:
    """One request as it came."""

    def __init__(self, peer: Peer, number: int, headers: list[tuple[bytes, bytes]]) -> None:
        self.peer, self.number, self.headers = peer, number, headers
        self.body = bytearray()
        self.whole = asyncio.Event()
        self.reset: int | None = None  # the code with which the client ended it

    @property
    def fields(self) -> dict[bytes, bytes]:
        return {bytes(name): bytes(value) for name, value in self.headers}

    def head(self, *fields: tuple[bytes, bytes], status: bytes = b"200", end: bool = False) -> None:
        self.peer.h2.send_headers(self.number, [(b":status", status), *fields], end_stream=end)
        self.peer.flush()

    def data(self, data: bytes, *, end: bool = False, pad: int | None = None) -> None:
        self.peer.h2.send_data(self.number, data, end_stream=end, pad_length=pad)
        self.peer.flush()

    async def pour(self, data: bytes, *, end: bool = True) -> None:
        """Send as the client's windows let it; ``peer.poured`` counts."""
        peer = self.peer
        if not data and end:
            self.data(b"", end=True)
        while data and self.reset is None:
            room = min(peer.h2.local_flow_control_window(self.number), peer.h2.max_outbound_frame_size, len(data))
            if not room:
                peer.moved.clear()
                await peer.moved.wait()
                continue
            peer.h2.send_data(self.number, data[:room], end_stream=end and room == len(data))
            peer.flush()
            peer.poured += room
            data = data[room:]

    def answer(self, body: bytes = b"hi", *fields: tuple[bytes, bytes], status: bytes = b"200") -> None:
        self.head(*fields, status=status)
        self.data(body, end=True)

    def end(self, code: int) -> None:
        self.peer.h2.reset_stream(self.number, code)
        self.peer.flush()


class Peer(asyncio.Protocol):
    """The origin's end of one connection."""

    def __init__(self, origin: Scripted) -> None:
        self.origin = origin
        self.poured = 0
        self.moved = asyncio.Event()
        self.pings = 0
        self.gone: list[events.ConnectionTerminated] = []
        self.asked: dict[int, Asked] = {}
        self.h2 = H2Connection(
            H2Configuration(client_side=False, header_encoding=None, validate_outbound_headers=False)
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.origin.peers.append(self)
        tls = transport.get_extra_info("ssl_object")
        self.origin.chosen.append(tls.selected_alpn_protocol())
        if self.origin.raw is not None:
            self.transport.write(self.origin.raw)
            return
        self.h2.local_settings = Settings(client=False, initial_values={**self.origin.settings})
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        if self.origin.raw is not None:
            return
        try:
            found = self.h2.receive_data(data)
        except (ProtocolError, H2Error) as error:
            self.origin.errors.append(error)
            self.transport.abort()
            return
        for event in found:
            self._take(event)
        self.moved.set()
        self.flush()

    def _take(self, event: events.Event) -> None:
        if isinstance(event, events.RequestReceived):
            asked = self.asked[event.stream_id] = Asked(self, event.stream_id, event.headers)
            self.origin.asked.append(asked)
            self.origin.begin(self.origin.handle(asked))
        elif isinstance(event, events.DataReceived):
            self.asked[event.stream_id].body += event.data
            if self.origin.reads:
                self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, events.StreamEnded):
            self.asked[event.stream_id].whole.set()
        elif isinstance(event, events.StreamReset):
            self.asked[event.stream_id].reset = event.error_code
        elif isinstance(event, events.PingAckReceived):
            self.pings += 1
        elif isinstance(event, events.ConnectionTerminated):
            self.gone.append(event)

    def connection_lost(self, error: Exception | None) -> None:
        self.origin.closed += 1

    def flush(self) -> None:
        data = self.h2.data_to_send()
        if data and not self.transport.is_closing():
            self.transport.write(data)

    def go_away(self, last: int, code: int = 0) -> None:
        """Say so and carry on, as a server does that drains."""
        frame = GoAwayFrame(0, last_stream_id=last, error_code=code)
        self.transport.write(frame.serialize())


class Scripted:
    """The origin, and what happened at it."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.url = ""
        self.port = 0
        self.settings: dict[SettingCodes, int] = {}
        self.raw: bytes | None = None  # said instead of HTTP/2
        self.reads = True  # whether requests' bodies are acknowledged
        self.peers: list[Peer] = []
        self.asked: list[Asked] = []
        self.chosen: list[str | None] = []
        self.errors: list[Exception] = []
        self.closed = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Awaitable[None]) -> None:
        async def run() -> None:
            await work

        task = asyncio.ensure_future(run())
        self._tasks.add(task)

    @property
    def opened(self) -> int:
        return len(self.peers)

    async def until(self, condition: Callable[[], object], within_s: float = 10.0) -> None:
        async with asyncio.timeout(within_s):
            while not condition():  # noqa: ASYNC110 - any condition, not one event
                await asyncio.sleep(0.005)

    async def aclose(self) -> None:
        for peer in self.peers:
            peer.transport.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.until(lambda: self.closed == self.opened)
        await asyncio.sleep(0)


async def hello(asked: Asked) -> None:
    await asked.whole.wait()
    asked.answer()


@contextlib.asynccontextmanager
async def scripted(
    certificate: tuple[Path, Path], handle: Handle = hello, *, alpn: tuple[str, ...] = ("h2",), port: int = 0
) -> AsyncIterator[Scripted]:
    """Serve requests with ``handle``."""
    origin = Scripted(handle)
    context: ssl.SSLContext = server_context(*certificate)
    context.set_alpn_protocols(list(alpn))
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Peer(origin), "127.0.0.1", port, ssl=context)
    origin.port = server.sockets[0].getsockname()[1]
    origin.url = f"https://localhost:{origin.port}"
    try:
        yield origin
    finally:
        await settle()
        server.close()
        await origin.aclose()


def request(url: str, method: str = "POST", path: str = "/v1/x", **more: object) -> Request:
    given: dict[str, object] = {"headers": [(b"x-a", b"1")], "body": b"{}", "connect_timeout_s": 5.0, "http2": True}
    return Request(method=method, url=url + path, **{**given, **more})  # type: ignore[arg-type]
