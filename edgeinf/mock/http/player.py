"""Send one planned answer at its instants, stamping each event as it leaves."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Protocol

from edgeinf.mock.http.head import render_head
from edgeinf.mock.record import Call
from edgeinf.mock.values import Kind, Piece, Plan

__all__ = ["Host", "Player", "reset"]

_CONTROLS = frozenset({Kind.CLOSE, Kind.RESET, Kind.HOLD})
_BATCH_BYTES = 1 << 16


class Host(Protocol):
    """The connection that a player writes to."""

    transport: asyncio.Transport
    loop: asyncio.AbstractEventLoop
    paused: bool

    def frozen_until(self) -> float:
        """Return the loop time until which nothing may be sent."""
        ...

    def held(self, player: Player) -> None:
        """Remember a player that waits to be released."""
        ...

    def played(self, player: Player, outcome: str, *, keep: bool) -> None:
        """Take note that the answer is over; ``keep`` says whether the connection may serve another."""
        ...


class Player:
    """Plays a plan piece by piece. Deadlines are absolute, so that delays do not add up their own lateness."""

    __slots__ = (
        *("_alone", "_batch", "_bodyless", "_chunked", "_due", "_handle", "_host", "_keep"),
        *("_kinds", "_length", "_over", "_pending", "_pieces", "_plan", "_started", "call"),
    )

    def __init__(self, host: Host, plan: Plan, call: Call, *, keep: bool, old: bool, bodyless: bool) -> None:
        self._host = host
        self._plan = plan
        self.call = call
        self._due = host.loop.time()
        self._batch: list[bytes] = []
        self._kinds: list[Kind] = []
        self._pending: Piece | None = None
        self._handle: asyncio.Handle | None = None
        self._bodyless = bodyless or plan.status in (204, 304) or plan.status < 200
        self._alone = False
        self._over = False
        self._started = False
        framing = plan.framing
        if framing == "auto":
            framing = "length" if not plan.stream else "eof" if old else "chunked"
        self._chunked = framing == "chunked" and not self._bodyless
        self._length: int | None = None
        if framing == "length":
            pieces = list(plan.pieces)
            self._length = sum(len(p.data) for p in pieces) + plan.length_error
            plan.pieces = pieces
        self._keep = keep and framing != "eof" and not plan.close
        self._pieces: Iterator[Piece] = iter(() if self._bodyless else plan.pieces)

    def start(self, *, each_alone: bool) -> None:
        """Begin, from the instant at which the request was complete."""
        self._alone = each_alone
        if self._plan.head_s:
            self._later(self._plan.head_s)
        else:
            self._run()

    def release(self) -> None:
        """Go on after a hold."""
        self._due = self._host.loop.time()
        self._run()

    def resume(self) -> None:
        """Go on after the socket had been full."""
        if self._handle is None and not self._over:
            self._run()

    def stop(self) -> None:
        """Send nothing more."""
        self._over = True
        if self._handle is not None:
            self._handle.cancel()

    def _later(self, wait_s: float) -> None:
        self._due += wait_s
        self._handle = self._host.loop.call_at(self._due, self._run)

    def _run(self) -> None:
        self._handle = None
        if self._over:
            return
        frozen = self._host.frozen_until()
        if frozen > self._host.loop.time():
            self._handle = self._host.loop.call_at(frozen, self._run)
            return
        if not self._started:
            before, self._plan.before = self._plan.before, None
            if before is not None and self._control(before):
                return
            self._begin()
        self._body()

    def _begin(self) -> None:
        self._started = True
        self.call.status = self._plan.status
        length = self._length
        if self._bodyless and self._plan.status in (204, 304):
            length = None
        self._batch.append(render_head(self._plan, length=length, chunked=self._chunked))

    def _body(self) -> None:
        size = 0
        while True:
            piece = self._pending
            self._pending = None
            if piece is None:
                piece = next(self._pieces, None)
                if piece is None:
                    self._finish()
                    return
                if piece.wait_s > 0 and piece.kind not in _CONTROLS:
                    self._flush()
                    self._pending = piece
                    self._later(piece.wait_s)
                    return
            if piece.kind in _CONTROLS:
                self._flush()
                if self._control(piece):
                    return
                continue
            self._add(piece)
            size += len(piece.data)
            if piece.alone or self._alone or size > _BATCH_BYTES:
                size = 0
                self._flush()
                if self._host.paused:
                    return
                # One turn of the loop, so that the kernel gets the bytes as a packet of their own.
                self._handle = self._host.loop.call_soon(self._run)
                return

    def _add(self, piece: Piece) -> None:
        data = piece.data
        if data:
            self._batch.append(b"%x\r\n%b\r\n" % (len(data), data) if self._chunked else data)
        if piece.kind is not Kind.PART:
            self._kinds.append(piece.kind)

    def _flush(self) -> None:
        call = self.call
        now = perf_counter_ns()
        if self._kinds:
            call.event_ns += [now] * len(self._kinds)
            call.event_kinds += self._kinds
            self._kinds.clear()
        if self._batch:
            if not call.headers_ns:
                call.headers_ns = now
            data = b"".join(self._batch)
            call.sent_bytes += len(data)
            self._batch.clear()
            self._host.transport.write(data)

    def _finish(self) -> None:
        if self._chunked:
            self._batch.append(b"0\r\n\r\n")
        self._flush()
        self._over = True
        self._host.played(self, "done", keep=self._keep)

    def _control(self, piece: Piece) -> bool:
        """Do what a control piece says; return whether playing stops here."""
        if piece.kind is Kind.HOLD:
            if piece.wait_s >= 0:
                self._due = self._host.loop.time()
                self._later(piece.wait_s)
            else:
                self._host.held(self)
            return True
        if piece.data:
            self._batch.append(piece.data)
            self._flush()
        self._over = True
        if piece.kind is Kind.RESET:
            reset(self._host.transport)
            self._host.played(self, "reset", keep=False)
        else:
            self._host.played(self, "cut", keep=False)
        return True


def reset(transport: asyncio.Transport) -> None:
    """Close a connection with RST instead of FIN."""
    sock = transport.get_extra_info("socket")
    if sock is not None and not transport.is_closing():
        # A duplicate, since the loop's own handle does not offer options everywhere.
        with socket.socket(fileno=socket.dup(sock.fileno())) as same:
            same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
