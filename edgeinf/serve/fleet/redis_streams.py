"""An answer that one node fetches as a stream, read live on others: through a stream in Redis, and only where asked.

A node that waits puts a word into the list of the node that holds the lease. That node then publishes what it has of
the answer and what follows, for as long as somebody repeats the word; without one nothing is written.

Entries are numbered without gaps, their ids are the publication and the number in it, and pieces say where in the
answer they stand. What Redis loses is published anew from the start, and readers pass over what they have. A reader
that misses something, or hears nothing for a while, not even that there is nothing new, gives up: before its first
byte it fetches for itself, afterwards its clients are told that the answer broke off.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import time
from typing import TYPE_CHECKING, Any

import msgspec

from edgeinf.core.errors import CallError
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.fleet.member import on_leaving
from edgeinf.serve.fleet.outcome import Outcome
from edgeinf.serve.fleet.redis_link import RedisDown, RedisLink
from edgeinf.serve.fleet.redis_parts import Beat, Broken, End, Head, Hello, Lost, Part, Piece, Source, Writer
from edgeinf.serve.flight import RECORD_LIMIT, Flight, Reader

if TYPE_CHECKING:
    from edgeinf.serve.runtime import Runtime

__all__ = ["RedisStreams"]

_WAITS = b"edgeinf:n:"  # a node's list of who waits for what
_PARTS = b"edgeinf:s:"  # what is published of one answer
_BLOCK_S = 2.0
_AGAIN_S = 1.0
# How often a reader repeats that it waits, and how long it is believed.
_REPEAT_S, _WANTED_S = 1.0, 6.0
# How often a publisher says that there is nothing new, and after which silence it is taken for dead.
_BEAT_S, _SILENCE_S = 1.5, 10.0
# How long the end of a flight waits until its readers were told.
_TELLING_S = 9.0
# How long a reader waits for a publisher to begin.
_ANSWER_S = 2.0
_WAITING = 1000  # words in one list, at most
# Beyond what is recorded nobody can join any more, and readers need but the last entries.
_LAST = 256
_FIRST_S, _MOST_S = 0.01, 0.04


class _Led:
    """An answer that this node fetches."""

    def __init__(self, flight: Flight, trust: bytes) -> None:
        self.flight = flight
        self.trust = trust
        self.wanted_until = 0.0
        self.publishing: asyncio.Task[None] | None = None


class RedisStreams:
    """One process's part. ``link`` is for calls, ``listening`` waits for words of others."""

    def __init__(self, runtime: Runtime, link: RedisLink, listening: RedisLink) -> None:
        self.node = os.urandom(8).hex().encode()
        self._runtime = runtime
        self._link = link
        self._listening = listening
        self._led: dict[bytes, _Led] = {}
        self._publications = itertools.count(1)

    # --- leading ---

    def lead(self, token: bytes, flight: Flight, trust: bytes) -> None:
        """Let others follow a flight from here on; ``token`` is its lease's."""
        self._led[token] = _Led(flight, trust)

    async def landed(self, token: bytes) -> None:
        """Wait until those who follow have been told how the flight ended."""
        led = self._led.pop(token, None)
        if led is not None and led.publishing is not None:
            await asyncio.wait({led.publishing}, timeout=_TELLING_S)

    async def keep(self) -> None:
        """Hear who waits, for ever."""
        try:
            while True:
                try:
                    said = await self._listening.run(
                        lambda client: client.blpop([_WAITS + self.node], timeout=_BLOCK_S), timeout_s=_BLOCK_S + 2
                    )
                except RedisDown:
                    await asyncio.sleep(_AGAIN_S)
                    continue
                if said:
                    self._wanted(bytes(said[1]))
        finally:
            for led in self._led.values():
                if led.publishing is not None:
                    led.publishing.cancel()
            await self._listening.aclose()

    def _wanted(self, token: bytes) -> None:
        led = self._led.get(token)
        if led is None or led.flight.done:
            return  # what came of it can be found
        led.wanted_until = time.perf_counter() + _WANTED_S
        if led.publishing is None or led.publishing.done():
            led.publishing = asyncio.get_running_loop().create_task(self._publish(token, led))

    async def _publish(self, token: bytes, led: _Led) -> None:
        flight = led.flight
        try:
            while True:
                writer = Writer(self._link, _PARTS + token, next(self._publications))
                reader = flight.join()
                try:
                    await self._write(led, reader, writer)
                    return
                except Lost:
                    continue  # Redis was restarted or had to make room
                finally:
                    flight.part(reader)
        except (RedisDown, CallError):
            pass  # the readers hear nothing more
        finally:
            on_leaving(flight, self._runtime)

    async def _write(self, led: _Led, reader: Reader, writer: Writer) -> None:
        flight = led.flight
        await writer.write(Hello(led.trust))
        if flight.first_piece > 0:  # its start has been let go: nobody can follow it any more
            gone = ("the start of the answer is no longer there", 502, "origin_cut")
            await writer.write(End(flight.sent_bytes, Outcome(unfit="over", stored=False, failure=gone)))
        elif await self._parts(led, reader, writer):
            await writer.write(End(flight.sent_bytes, Outcome.of(flight)))
        else:
            await writer.forget()

    async def _parts(self, led: _Led, reader: Reader, writer: Writer) -> bool:
        """Publish what there is until the flight is over; False where nobody wants it any more."""
        flight, began = led.flight, False
        while time.perf_counter() < led.wanted_until:
            if flight.committed and not began:
                if not flight.stream or flight.status != 200:
                    while not flight.done:
                        await reader.changed()
                    return True
                began = True
                await writer.write(Head(flight.content_type))
            at = reader.seen_bytes
            piece = reader.take() if began else None
            if piece is not None:
                late = await writer.write(Piece(at, piece), last=None if flight.recording else _LAST)
            elif flight.done:
                return True
            elif not await reader.changed(_BEAT_S):
                late = await writer.write(Beat())
            else:
                continue
            if late:  # meanwhile nobody could say that it is wanted
                led.wanted_until = max(led.wanted_until, time.perf_counter() + _WANTED_S)
        return False

    # --- following ---

    async def follow(self, x: Exchange, flight: Flight, lease: bytes, token: bytes) -> bool | None:
        """Fill the flight with what another node publishes; False where that came to nothing, None where it is over."""
        saying = asyncio.get_running_loop().create_task(self._say_on(token))
        try:
            return await self._read_on(x, flight, lease, token)
        except (Broken, msgspec.DecodeError):
            if not flight.committed:
                return False
            flight.unfit = "cut"
            flight.fail(CallError("the node that fetched the answer is gone", status=502, code="origin_cut"))
            return True
        finally:
            saying.cancel()
            if not flight.committed:
                flight.origin_ms = 0.0

    async def _read_on(self, x: Exchange, flight: Flight, lease: bytes, token: bytes) -> bool | None:
        source = Source(self._link, _PARTS + token)
        started = heard = time.perf_counter()
        pause, over = _FIRST_S, False
        while True:
            parts = await source.read()
            now = time.perf_counter()
            flight.origin_ms = (now - started) * 1000
            for part in parts:
                if isinstance(part, Hello) and part.trust != x.keys[0].trust:
                    raise Broken
                if isinstance(part, End):
                    if flight.committed:
                        if part.at != flight.sent_bytes and part.outcome.failure is None:
                            raise Broken
                        part.outcome.end(flight)
                        return True
                    if not part.outcome.stored:
                        return False
                    over = True  # it came whole, and is found when the lease is gone
                await _take(x, flight, part)
            if parts:
                heard, pause = now, _FIRST_S
                continue
            if now - heard >= (_SILENCE_S if source.known else _ANSWER_S):
                raise Broken
            if (over or not source.known) and await self._lease(lease) != token:
                return None
            await asyncio.sleep(pause)
            pause = min(_MOST_S, 1.5 * pause)

    async def _say_on(self, token: bytes) -> None:
        """Repeat that this node waits, however slow its own readers are."""
        node = token.split(b":")[0]
        while True:
            await self._say(node, token)
            await asyncio.sleep(_REPEAT_S)

    async def _say(self, node: bytes, token: bytes) -> None:
        async def push(client: Any) -> None:
            pipeline = client.pipeline(transaction=False)
            pipeline.rpush(_WAITS + node, token)
            pipeline.ltrim(_WAITS + node, -_WAITING, -1)
            pipeline.pexpire(_WAITS + node, round(_WANTED_S * 1000))
            await pipeline.execute()

        with contextlib.suppress(RedisDown):
            await self._link.run(push)

    async def _lease(self, lease: bytes) -> bytes | None:
        held = await self._link.run(lambda client: client.get(lease))
        return held if isinstance(held, bytes) else None


async def _take(x: Exchange, flight: Flight, part: Part) -> None:
    """Let a part into the flight."""
    match part:
        case Head() if not flight.committed:
            x.cache = "collapsed"
            flight.commit(200, [], stream=True, content_type=part.content_type)
        case Piece() if flight.committed:
            known = flight.sent_bytes - part.at
            if known < 0:
                raise Broken
            if known >= len(part.data):
                return
            flight.first_token_at = flight.first_token_at or time.perf_counter()
            flight.add(part.data[known:])
            flight.recording = flight.recording and flight.sent_bytes <= RECORD_LIMIT
            await flight.room()
