"""One worker among those of its host: it asks the hub, and answers for itself."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import msgspec

from edgeinf.serve.cache import entry as entries
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.fleet.hub import Joined
from edgeinf.serve.fleet.link import Handler, Link, LinkDown
from edgeinf.serve.fleet.outcome import Outcome
from edgeinf.serve.fleet.purge import Purge, apply_purge
from edgeinf.serve.flight import Flight, Reader
from edgeinf.serve.observe.gather import encoded, local_snapshot
from edgeinf.serve.steps.lookup import usable

if TYPE_CHECKING:
    from edgeinf.serve.runtime import Runtime

__all__ = ["FIND_BYTES", "Member", "fill_from", "fill_with", "on_leaving"]

# How long a worker waits for the first word of an answer that another fetches, before it fetches itself.
_PATIENCE_S = 120.0
# A flight's name is the find key, then the trust key.
FIND_BYTES = 16


class _Head(msgspec.Struct, tag="head", array_like=True):
    status: int
    headers: list[tuple[bytes, bytes]]
    stream: bool
    content_type: str


class _Piece(msgspec.Struct, tag="piece", array_like=True):
    data: bytes


class _End(msgspec.Struct, tag="end", array_like=True):
    outcome: Outcome
    entry: bytes | None = None


_Part = _Head | _Piece | _End


class Member:
    """Peers and SharedFlights of one worker."""

    def __init__(self, runtime: Runtime, link: Link) -> None:
        self._runtime = runtime
        self._link = link
        self._led: dict[bytes, Flight] = {}
        self._sending: dict[int, asyncio.Task[None]] = {}
        self._inboxes: dict[int, asyncio.Queue[_Part]] = {}
        self._landing: set[asyncio.Task[None]] = set()

    def handlers(self) -> dict[str, Handler]:
        """Return what the hub's questions are answered with."""
        return {
            "snapshot": self._snapshot,
            "purge": self._purge,
            "issued": self._issued,
            "follow": self._follow,
            "unfollow": self._unfollow,
            "part": self._part,
            "lost": self._lost,
        }

    # --- Peers ---

    async def snapshots(self, *, rows: bool, slots: bool) -> list[bytes]:
        """Return what the other workers know."""
        try:
            return await self._link.ask("snapshots", (rows, slots), list[bytes])
        except LinkDown:
            return []

    async def purge(self, purge: Purge) -> int:
        """Have the other workers forget what only they hold."""
        try:
            return await self._link.ask("purge", purge, int, timeout_s=60.0)
        except LinkDown:
            return 0

    def issued(self, digests: list[bytes], region: str, account: str) -> None:
        """Tell the other workers who issued names."""
        self._link.tell("issued", (digests, region, account))

    def _issued(self, link: Link, body: msgspec.Raw) -> None:
        digests, region, account = msgspec.msgpack.decode(body, type=tuple[list[bytes], str, str])
        self._runtime.accounts.note(digests, region, account)

    async def _snapshot(self, link: Link, body: msgspec.Raw) -> bytes:
        rows, slots = msgspec.msgpack.decode(body, type=tuple[bool, bool])
        return encoded(await local_snapshot(self._runtime, rows=rows, slots=slots))

    async def _purge(self, link: Link, body: msgspec.Raw) -> int:
        return await apply_purge(self._runtime.tiers, msgspec.msgpack.decode(body, type=Purge), reach="process")

    # --- SharedFlights ---

    async def board(self, x: Exchange, flight: Flight, find: bytes) -> bool:
        """Follow the worker that fetches the same, take the answer from one that has it, or lead."""
        joined = await self._join(flight, find, ask_holder=True)
        if joined is not None and joined.held:
            if await self._listen(x, flight, joined.number):
                return True
            joined = await self._join(flight, find, ask_holder=False)
        if joined is None:
            return False
        if joined.leads:
            return joined.look_again and await fill_from(x, flight, self._runtime)
        return await self._listen(x, flight, joined.number)

    async def _join(self, flight: Flight, find: bytes, *, ask_holder: bool) -> Joined | None:
        # Others may follow before the answer to the question is acted on, so the lead is taken at once.
        self._led[find] = flight
        joined = None
        try:
            joined = await self._link.ask("join", (find, ask_holder), Joined)
        except LinkDown:
            pass
        finally:
            if joined is None or not joined.leads:
                del self._led[find]
        return joined

    async def _listen(self, x: Exchange, flight: Flight, number: int) -> bool:
        inbox = self._inboxes.setdefault(number, asyncio.Queue())
        try:
            return await self._copy(x, flight, inbox)
        finally:
            del self._inboxes[number]
            self._link.tell("unfollow", number)

    def land(self, flight: Flight, find: bytes) -> None:
        """Say that the fetch is over, once what was stored can be found by others."""
        if self._led.get(find) is not flight:
            return
        task = asyncio.get_running_loop().create_task(self._landed(flight, find))
        self._landing.add(task)
        task.add_done_callback(self._landing.discard)

    async def _landed(self, flight: Flight, find: bytes) -> None:
        try:
            if flight.stored:
                async with asyncio.timeout(5.0):
                    await self._runtime.tiers.flush()
        except TimeoutError:
            pass  # a slow disk: whoever looks again fetches for itself
        finally:
            if self._led.get(find) is flight:
                del self._led[find]
                self._link.tell("over", (find, flight.stored))

    async def _copy(self, x: Exchange, flight: Flight, inbox: asyncio.Queue[_Part]) -> bool:
        """Fill the flight with what another worker's brings; False where that failed before a byte was passed on."""
        started = time.perf_counter()
        head: _Head | None = None
        x.cache = "collapsed"
        while True:
            try:
                async with asyncio.timeout(None if flight.committed else _PATIENCE_S):
                    part = await inbox.get()
            except TimeoutError:
                x.cache = "miss"
                return False
            flight.origin_ms = (time.perf_counter() - started) * 1000
            match part:
                case _Head():
                    head = part
                    if head.stream:
                        _commit(flight, head)
                case _Piece():
                    flight.first_token_at = flight.first_token_at or time.perf_counter()
                    flight.add(part.data)
                    if flight.committed:
                        await flight.room()
                case _End(entry=bytes()) if head is None:
                    entry = entries.decode(part.entry or b"", x.keys[0].trust)
                    return entry is not None and fill_with(x, flight, self._runtime, entry, "memory")
                case _End():
                    if not flight.committed and (head is None or not _fit(part, head)):
                        flight.pieces.clear()
                        flight.sent_bytes = 0
                        flight.first_token_at = None
                        x.cache = "miss"
                        return False
                    if head is not None and not flight.committed:
                        _commit(flight, head)
                    self._end(x, flight, part)
                    return True

    def _end(self, x: Exchange, flight: Flight, end: _End) -> None:
        entry = None if end.entry is None else entries.decode(end.entry, x.keys[0].trust)
        if entry is not None:
            flight.entry = entry
            if self._runtime.tiers.memory is not None:
                self._runtime.tiers.memory.put(x.keys[0].find, entry)
        end.outcome.end(flight)

    def _part(self, link: Link, body: msgspec.Raw) -> None:
        number, part = msgspec.msgpack.decode(body, type=tuple[int, _Part])
        # The first part can arrive in the same read as the answer to ``join``, before that is acted on.
        self._inboxes.setdefault(number, asyncio.Queue()).put_nowait(part)

    def _lost(self, link: Link, body: msgspec.Raw) -> None:
        number = msgspec.msgpack.decode(body, type=int)
        inbox = self._inboxes.get(number)
        if inbox is not None:
            failure = ("the process that fetched the answer ended", 502, "internal")
            inbox.put_nowait(_End(Outcome(unfit="cut", stored=False, failure=failure)))

    # --- being followed ---

    def _follow(self, link: Link, body: msgspec.Raw) -> None:
        number, find = msgspec.msgpack.decode(body, type=tuple[int, bytes])
        flight = self._led.get(find)
        if flight is None or flight.first_piece > 0:  # or its start has been let go: nobody can follow it any more
            memory = self._runtime.tiers.memory
            held = None if memory is None else memory.peek(find[:FIND_BYTES])
            raw = None if held is None or held.trust != find[FIND_BYTES:] else entries.encode(held)
            over = Outcome(unfit=None if raw else "over", stored=raw is not None)
            link.tell("part", (number, True, _End(over, raw)))
            return
        reader = flight.join()
        task = asyncio.get_running_loop().create_task(self._send(number, flight, reader))
        self._sending[number] = task
        task.add_done_callback(lambda _: self._sending.pop(number, None))

    def _unfollow(self, link: Link, body: msgspec.Raw) -> None:
        task = self._sending.get(msgspec.msgpack.decode(body, type=int))
        if task is not None:
            task.cancel()

    async def _send(self, number: int, flight: Flight, reader: Reader) -> None:
        def tell(part: _Part, *, last: bool = False) -> None:
            self._link.tell("part", (number, last, part))

        try:
            while not flight.committed and not flight.done:
                await reader.changed()
            if flight.committed and (flight.recording or flight.stream):
                tell(_Head(flight.status, flight.headers, flight.stream, flight.content_type))
                while True:
                    piece = reader.take()
                    if piece is not None:
                        tell(_Piece(piece))
                    elif flight.done:
                        break
                    else:
                        await reader.changed()
            raw = None if flight.entry is None or not flight.stored else entries.encode(flight.entry)
            tell(_End(Outcome.of(flight), raw), last=True)
        finally:
            flight.part(reader)
            on_leaving(flight, self._runtime)


def on_leaving(flight: Flight, runtime: Runtime) -> None:
    """Stop fetching where the last reader, here or in another process, has left."""
    finishing = runtime.generation.config.cache.on_disconnect == "finish" and flight.recording
    if not flight.readers and not flight.done and flight.task is not None and not finishing:
        flight.task.cancel()


def _commit(flight: Flight, head: _Head) -> None:
    flight.commit(head.status, list(head.headers), stream=head.stream, content_type=head.content_type)


def _fit(end: _End, head: _Head) -> bool:
    return end.outcome.failure is None and end.outcome.unfit is None and head.status == 200


async def fill_from(x: Exchange, flight: Flight, runtime: Runtime) -> bool:
    """Fill the flight from the cache, where another process has stored the answer meanwhile."""
    found = await runtime.tiers.get(x.keys[0])
    return found is not None and fill_with(x, flight, runtime, found.entry, found.tier)


def fill_with(x: Exchange, flight: Flight, runtime: Runtime, entry: Entry, tier: str) -> bool:
    """Fill the flight with a stored answer; False where its age is not what the request accepts."""
    now = runtime.clock.now()
    if not usable(x, entry, now):
        x.cache = "miss"
        return False
    if runtime.tiers.memory is not None:
        runtime.tiers.memory.put(x.keys[0].find, entry)
    x.cache, x.tier, x.entry_age_s, x.saved_ms = "hit", tier, max(0.0, now - entry.stored_at), entry.total_ms
    flight.entry, flight.stored = entry, True
    flight.region, flight.model, flight.usage = entry.region, entry.model, entry.usage
    flight.commit(200, [], stream=entry.stream, content_type=entry.content_type, at_once=True)
    flight.add(entry.body)
    flight.finish()
    return True
