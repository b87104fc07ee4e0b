"""The entries of an answer that is published in Redis: written without gaps, read in order or not at all."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import msgspec

from edgeinf.serve.fleet.outcome import Outcome
from edgeinf.serve.fleet.redis_link import RedisDown, RedisLink

__all__ = ["CALL_S", "Beat", "Broken", "End", "Head", "Hello", "Lost", "Part", "Piece", "Source", "Writer"]

CALL_S = 2.0
"""How long one call for an entry may take: longer than a lookup, since a piece may be large."""

# So long a publisher tries to write one entry.
_TRIES_S = 8.0
# How long what was published is kept, and how often that is said again.
_KEPT_S, _KEPT_AGAIN_S = 30.0, 5.0


class Hello(msgspec.Struct, tag="hello", array_like=True):
    trust: bytes


class Head(msgspec.Struct, tag="head", array_like=True):
    content_type: str


class Piece(msgspec.Struct, tag="piece", array_like=True):
    at: int
    data: bytes


class Beat(msgspec.Struct, tag="beat", array_like=True):
    pass


class End(msgspec.Struct, tag="end", array_like=True):
    at: int
    outcome: Outcome


Part = Hello | Head | Piece | Beat | End
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Part).decode


class Broken(Exception):
    """What is published cannot be read on."""


class Lost(Exception):
    """What was published is no longer there."""


class Writer:
    """Writes numbered entries of one publication."""

    def __init__(self, link: RedisLink, key: bytes, publication: int) -> None:
        self._link = link
        self._key = key
        self._publication = publication
        self._count = 0
        self._kept_at = -_KEPT_AGAIN_S

    async def write(self, part: Part, *, last: int | None = None) -> bool:
        """Write one entry, and keep but the ``last`` so many; return whether it took more than one try.

        Raise RedisDown where it cannot be written for a while, Lost where the entries before are gone.
        """
        self._count += 1
        end, late = time.perf_counter() + _TRIES_S, False
        while True:
            try:
                added = await self._link.run(lambda client: self._add(client, part, last), timeout_s=CALL_S)
            except RedisDown:
                if time.perf_counter() >= end:
                    raise
                late = True
                await asyncio.sleep(0.2)
                continue
            if not added:
                raise Lost
            return late

    async def _add(self, client: Any, part: Part, last: int | None) -> bool:
        from redis.exceptions import ResponseError

        name, fields, begun = b"%d-%d" % (self._publication, self._count), {b"p": _encode(part)}, self._count > 1
        try:
            added = await client.xadd(self._key, fields, id=name, maxlen=last, approximate=False, nomkstream=begun)
        except ResponseError as error:
            if "equal or smaller" not in str(error):
                raise
            added = name  # the try before was late and not lost
        if isinstance(part, End) or time.perf_counter() - self._kept_at >= _KEPT_AGAIN_S:
            await client.pexpire(self._key, round(_KEPT_S * 1000))
            self._kept_at = time.perf_counter()
        return added is not None

    async def forget(self) -> None:
        """Take away what was published: nobody waits for its end."""
        await self._link.run(lambda client: client.delete(self._key), timeout_s=CALL_S)


class Source:
    """Reads them in order. ``known`` once there were any."""

    def __init__(self, link: RedisLink, key: bytes) -> None:
        self._link = link
        self._key = key
        self._publication = 0
        self._count = 0

    @property
    def known(self) -> bool:
        return self._publication > 0

    async def read(self) -> list[Part]:
        """Return what is new; nothing while Redis cannot be asked. Raise Broken where something is missing."""
        since = b"%d-%d" % (self._publication, self._count + 1)
        try:
            read = await self._link.run(
                lambda client: client.xrange(self._key, min=since, max=b"+", count=100), timeout_s=CALL_S
            )
        except RedisDown:
            if not self.known:
                raise
            return []
        parts: list[Part] = []
        for name, fields in read:
            publication, count = map(int, bytes(name).split(b"-"))
            if publication > self._publication:
                self._count = 0  # what was lost begins anew
            elif publication < self._publication:
                raise Broken
            if count != self._count + 1:
                raise Broken
            self._publication, self._count = publication, count
            parts.append(_decode(fields[b"p"]))
        return parts
