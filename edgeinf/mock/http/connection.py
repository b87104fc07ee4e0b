"""One client connection: parse its requests, answer them in order."""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter_ns
from typing import Protocol, cast

import httptools

from edgeinf.mock.http.head import render_head
from edgeinf.mock.http.player import Player, reset
from edgeinf.mock.record import Call, Record
from edgeinf.mock.values import Ask, Plan

__all__ = ["Connection", "Origin"]


class Origin(Protocol):
    """What a connection asks of the origin it belongs to."""

    record: Record
    connections: set[Connection]
    frozen_until: float
    each_alone: bool

    def plan(self, ask: Ask) -> tuple[Plan, tuple[str, ...]]:
        """Plan the answer to a request; also return the names of the faults in it."""
        ...

    def control(self, ask: Ask) -> Plan | None:
        """Answer a request to the mock itself, or return None."""
        ...

    def affect(self, effect: str, seconds: float) -> None:
        """Freeze the origin or take it down."""
        ...


class Connection(asyncio.Protocol):
    """Reads HTTP/1.1 requests, pipelined ones too, and plays one answer at a time."""

    transport: asyncio.Transport

    def __init__(self, origin: Origin, loop: asyncio.AbstractEventLoop) -> None:
        self._origin = origin
        self.loop = loop
        self.paused = False
        self._parser = httptools.HttpRequestParser(self)
        self._waiting: deque[tuple[Ask, int, bool, bool]] = deque()
        self._player: Player | None = None
        self._holding: Player | None = None
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._started_ns = 0
        self._number = 0
        self._uses = 0
        self._unread: list[bytes] = []

    # The transport calls these.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self._origin.connections.add(self)
        self._origin.record.connections += 1
        self._number = self._origin.record.connections

    def data_received(self, data: bytes) -> None:
        if self._origin.frozen_until > self.loop.time():
            if not self._unread:
                self.loop.call_at(self._origin.frozen_until, self._thaw)
            self._unread.append(data)
            return
        if not self._started_ns:
            self._started_ns = perf_counter_ns()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserCallbackError as error:
            raise (error.__context__ or error) from None  # a fault of the mock, not of the client
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._origin.connections.discard(self)
        self._waiting.clear()
        player, self._player = self._player, None
        if player is not None:
            player.stop()
            self._origin.record.end(player.call, "disconnected")

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        if self._player is not None and self._player is not self._holding:
            self._player.resume()

    # The parser calls these.

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        for name, value in self._headers:
            if name == b"expect" and value.lower() == b"100-continue":
                self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        parser = self._parser
        path, _, query = self._url.decode("latin-1").partition("?")
        body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        ask = Ask(parser.get_method().decode(), path, query, self._headers, body)
        old = parser.get_http_version() == "1.0"
        self._waiting.append((ask, self._started_ns, parser.should_keep_alive(), old))
        self._url, self._headers, self._body, self._started_ns = b"", [], [], 0
        if self._player is None:
            self._next()

    # The player calls these.

    def frozen_until(self) -> float:
        return self._origin.frozen_until

    def held(self, player: Player) -> None:
        self._holding = player

    def played(self, player: Player, outcome: str, *, keep: bool) -> None:
        self._origin.record.end(player.call, outcome)
        self._player = None
        if not keep:
            self.transport.close()
        elif self._waiting:
            self.loop.call_soon(self._next)  # not at once: a long pipeline would recurse

    # The origin calls these.

    def release(self) -> None:
        """Let a held answer go on."""
        player, self._holding = self._holding, None
        if player is not None and player is self._player:
            player.release()

    def drop(self) -> None:
        """Reset the connection, as when the process behind it dies."""
        player, self._player = self._player, None
        if player is not None:
            player.stop()
            self._origin.record.end(player.call, "reset")
        reset(self.transport)

    def _next(self) -> None:
        if self._player is not None or not self._waiting:
            return
        ask, started_ns, keep, old = self._waiting.popleft()
        origin = self._origin
        self._uses += 1
        record = origin.record
        call = Call(ask, started_ns=started_ns, connection=self._number, connection_use=self._uses)
        plan = origin.control(ask) if ask.path.startswith("/_mock/") else None
        if plan is None:
            ask.number = record.total + 1
            record.begin(call)
            plan, call.faults = origin.plan(ask)
            for effect, seconds in plan.effects:
                origin.affect(effect, seconds)
            if self.transport.is_closing():
                return  # the effect took this connection down too
        if keep and plan.plain and ask.method != "HEAD" and not self.paused:
            self._send_at_once(plan, call)
            return
        self._player = Player(self, plan, call, keep=keep, old=old, bodyless=ask.method == "HEAD")
        self._player.start(each_alone=origin.each_alone)

    def _send_at_once(self, plan: Plan, call: Call) -> None:
        """Send a whole answer that has neither delay nor fault, as a player would, without the player's cost."""
        (piece,) = plan.pieces
        data = render_head(plan, length=len(piece.data), chunked=False) + piece.data
        call.status, call.sent_bytes = plan.status, len(data)
        call.headers_ns = now = perf_counter_ns()
        call.event_ns.append(now)
        call.event_kinds.append(piece.kind)
        self.transport.write(data)
        self._origin.record.end(call, "done")
        if self._waiting:
            self.loop.call_soon(self._next)

    def _thaw(self) -> None:
        data, self._unread = b"".join(self._unread), []
        if data and not self.transport.is_closing():
            self.data_received(data)
