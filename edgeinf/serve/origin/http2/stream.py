"""One request's stream: what has arrived of its answer, and what its reader has taken."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

from edgeinf.core.wire.headers import Headers
from edgeinf.serve.origin.client import ConnectionLost, OriginFailure

__all__ = ["Carrier", "NotProcessed", "Stream"]


class NotProcessed(ConnectionLost):
    """The origin has not looked at the request, so it may be asked again without harm."""


class Carrier(Protocol):
    """The connection, as its streams see it."""

    def taken(self, stream: Stream, size: int) -> None:
        """Hear that ``size`` bytes were read, so that the origin may send as many more."""
        ...

    def leave(self, stream: Stream) -> None:
        """Hear that nobody reads a stream any more."""
        ...


class Stream:
    """A :class:`~edgeinf.serve.origin.client.Response`."""

    __slots__ = (
        "_carrier",
        "_chunks",
        "_left",
        "_waiter",
        "_window",
        "complete",
        "head",
        "headers",
        "lost",
        "number",
        "on_kept",
        "opened_after",
        "opened_at",
        "received",
        "sent",
        "status",
        "to_head",
        "unacknowledged",
    )

    def __init__(self, carrier: Carrier, number: int, head: asyncio.Future[None]) -> None:
        self._carrier = carrier
        self.number = number
        self.head = head  # done when status and headers are there
        self.to_head = False  # the request's method is HEAD
        self.status = 0
        self.headers: Headers = []
        self.sent = False  # the whole request has been written
        self.complete = False  # the whole answer has arrived
        self.received = 0
        self.unacknowledged = 0  # bytes read that the origin has not been told of
        self.lost: OriginFailure | None = None
        self._window: asyncio.Future[None] | None = None  # the sender waits for it
        self.opened_at = 0.0
        self.opened_after = 0  # so many reads of the connection came before
        self.on_kept = False  # the connection had waited for requests
        self._chunks: deque[bytes] = deque()
        self._waiter: asyncio.Future[None] | None = None
        self._left = False

    # --- the connection's side ---

    def begin(self, status: int, headers: Headers) -> None:
        """Take the answer's head."""
        self.status, self.headers = status, headers
        if not self.head.done():
            self.head.set_result(None)

    def add(self, data: bytes) -> None:
        """Take a piece of the answer's body."""
        self.received += len(data)
        if data:
            self._chunks.append(data)
            self._wake()

    def finish(self) -> None:
        """Hear that the answer is whole."""
        self.complete = True
        self.may_send()
        self._wake()

    def fail(self, error: OriginFailure) -> None:
        """Hear that nothing more will come."""
        if self.lost is None and not self.complete:
            self.lost = error
            if not self.head.done():
                self.head.set_exception(error)
                self.head.exception()  # taken note of even where nobody waits any more
        self.may_send()
        self._wake()

    async def wait_for_window(self) -> None:
        """Wait until the origin's windows may have room."""
        self._window = asyncio.get_running_loop().create_future()
        try:
            await self._window
        finally:
            self._window = None

    def may_send(self) -> None:
        """Wake the sender, if it waits."""
        if self._window is not None and not self._window.done():
            self._window.set_result(None)

    @property
    def short(self) -> bool:
        """Return whether a body was announced and none came; the library sees to lengths only where one comes."""
        if self.received or self.to_head or self.status in (204, 304):
            return False
        return any(name == b"content-length" and value.strip(b"0 ") for name, value in self.headers)

    # --- the reader's side ---

    async def read(self) -> bytes | None:
        """Return what has arrived, waiting if nothing has; None at the end. Raise OriginFailure."""
        while not self._chunks:
            if self._left:
                return None
            if self.complete:
                self.close()
                return None
            if self.lost is not None:
                self.close()
                raise self.lost
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            except BaseException:
                self.close()
                raise
            finally:
                self._waiter = None
        data = self._chunks.popleft() if len(self._chunks) == 1 else b"".join(self._chunks)
        self._chunks.clear()
        self._carrier.taken(self, len(data))
        return data

    def close(self) -> None:
        """Let go of the answer; what has not arrived is not sent any more. Idempotent."""
        if not self._left:
            self._left = True
            self._chunks.clear()
            self._carrier.leave(self)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
