"""One answer on its way from an origin, and everyone who reads it.

A flight gathers what an origin sends as pieces of whole events and lets any number of readers follow from the
start: the prefix at once, then live. It holds at most a window ahead of its readers (back-pressure), and at most
``RECORD_LIMIT`` bytes for storing; beyond that what every reader has seen is let go.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from edgeinf.core.call import Usage
from edgeinf.core.errors import CallError
from edgeinf.core.wire.headers import Headers
from edgeinf.serve.cache.entry import Entry

__all__ = ["RECORD_LIMIT", "WINDOW", "Flight", "Flights", "Reader"]

RECORD_LIMIT = 8 * 2**20
WINDOW = 512 * 1024


class Reader:
    """One reader's place in a flight."""

    __slots__ = ("_waiter", "flight", "gone", "piece", "seen_bytes")

    def __init__(self, flight: Flight) -> None:
        self.flight = flight
        self.piece = 0  # the next piece, counted from the start of the answer
        self.seen_bytes = 0
        self.gone = False  # its client has left
        self._waiter: asyncio.Future[None] | None = None

    async def changed(self, timeout_s: float | None = None) -> bool:
        """Wait until the flight moved on or the client left; False when ``timeout_s`` passed first."""
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            if timeout_s is None:
                await self._waiter
            else:
                async with asyncio.timeout(timeout_s):
                    await self._waiter
        except TimeoutError:
            return False
        finally:
            self._waiter = None
        return True

    def wake(self) -> None:
        """Let the reader look again."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def leave(self) -> None:
        """The client has left; wake whoever waits on its behalf."""
        self.gone = True
        self.wake()

    def take(self) -> bytes | None:
        """Return all pieces not yet read as one, or None. Raise CallError where it joined too late to have them all."""
        flight = self.flight
        index = self.piece - flight.first_piece
        if index < 0:
            raise CallError("the start of the answer is no longer there", status=502, code="internal")
        count = len(flight.pieces)
        if index >= count:
            return None
        data = flight.pieces[index] if index + 1 == count else b"".join(flight.pieces[index:])
        self.piece = flight.first_piece + count
        self.seen_bytes += len(data)
        flight.drained()
        return data


class Flight:
    """An answer that is arriving. The filling side calls ``commit``, ``add``, ``finish`` or ``fail``."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: Headers = []
        self.stream = False
        self.content_type = "application/json"
        self.pieces: list[bytes] = []
        self.first_piece = 0
        self.sent_bytes = 0
        self.committed = False  # the head is known, and what follows will not be taken back
        self.done = False
        self.failure: CallError | None = None  # the answer did not come, or broke off
        self.unfit: str | None = None  # why it was not stored
        self.stored = False
        self.entry: Entry | None = None
        self.recording = True
        self.passing = False  # one document that is passed on as it comes
        self.storable = False  # whether its answer may be kept at all
        self.readers: set[Reader] = set()
        self.unfollowable: Callable[[], None] | None = None  # told once when newcomers can no longer have the start
        self.name = b""  # under which others find it; empty where it is nobody else's
        self.begun: Callable[[], None] | None = None  # told once where the answer begins before its end is there
        self.task: asyncio.Task[None] | None = None
        self.started = time.perf_counter()
        self.first_token_at: float | None = None
        self.region: str | None = None
        self.model: str | None = None
        self.fallback: str | None = None  # the fallback model that answered, as the config names it
        self.usage = Usage()
        self.attempts = 0
        self.origin_ms = 0.0
        self._room: asyncio.Future[None] | None = None

    # --- the filling side ---

    def commit(self, status: int, headers: Headers, *, stream: bool, content_type: str, at_once: bool = False) -> None:
        """Say what the answer is; from here on it is this origin's. ``at_once`` says that all of it follows now."""
        self.status, self.headers, self.stream, self.content_type = status, headers, stream, content_type
        self.committed = True
        begun, self.begun = self.begun, None
        if begun is not None and not at_once:
            begun()
        self._wake()

    def add(self, piece: bytes) -> None:
        """Let readers have the next bytes; whole events, where the answer is a stream."""
        self.pieces.append(piece)
        self.sent_bytes += len(piece)
        self._wake()

    def finish(self) -> None:
        """Say that the answer is whole, or that its end as the origin sent it has come."""
        self._end()

    def fail(self, failure: CallError) -> None:
        """Say that the answer will not come, or broke off."""
        self.failure = failure
        self._end()

    def _end(self) -> None:
        self.done = True
        # What refers back to the flight goes, so that it is let go with its last reader, not by the collector.
        self.task = self.unfollowable = self.begun = None
        self._wake()

    async def room(self) -> None:
        """Wait while the readers are a window or more behind."""
        while self.readers and self._ahead() > WINDOW:
            self._room = asyncio.get_running_loop().create_future()
            try:
                await self._room
            finally:
                self._room = None
        if not self.readers and not self.recording and self.task is not None:
            self.task.cancel()  # nobody reads it and it will not be kept

    def _ahead(self) -> int:
        seen = [reader.seen_bytes for reader in self.readers]
        # While it is recorded the fastest reader sets the pace; afterwards the slowest, so that pieces can go.
        return self.sent_bytes - (max(seen) if self.recording else min(seen))

    # --- the reading side ---

    def join(self) -> Reader:
        """Return a new reader at the start of the answer."""
        reader = Reader(self)
        self.readers.add(reader)
        return reader

    def part(self, reader: Reader) -> None:
        """Let a reader go."""
        self.readers.discard(reader)
        self.drained()

    def drained(self) -> None:
        """A reader moved on: let the filling side continue, and let go of what everyone has seen."""
        if not self.recording and self.readers:
            seen = min(reader.piece for reader in self.readers)
            if seen > self.first_piece:
                del self.pieces[: seen - self.first_piece]
                self.first_piece = seen
                if self.unfollowable is not None:
                    self.unfollowable()
                    self.unfollowable = None
        if self._room is not None and not self._room.done():
            self._room.set_result(None)

    def _wake(self) -> None:
        for reader in self.readers:
            reader.wake()


class Flights(dict[bytes, Flight]):
    """Answers under way by find key, for as long as a newcomer can follow them from their start."""

    def __setitem__(self, find: bytes, flight: Flight) -> None:
        super().__setitem__(find, flight)
        flight.unfollowable = lambda: self._leave(find, flight)

    def _leave(self, find: bytes, flight: Flight) -> None:
        if self.get(find) is flight:
            del self[find]
