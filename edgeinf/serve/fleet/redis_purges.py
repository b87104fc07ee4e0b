"""Tell every node what to forget: a stream in Redis, which a node that was away reads from where it left off."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from edgeinf.serve.fleet.base import Peers
from edgeinf.serve.fleet.purge import Purge, apply_purge
from edgeinf.serve.fleet.redis_link import RedisDown, RedisLink

if TYPE_CHECKING:
    from edgeinf.serve.runtime import Runtime

__all__ = ["BLOCK_S", "RedisPurges"]

_log = logging.getLogger("edgeinf.fleet")

_STREAM = b"edgeinf:purges"
_KEPT = 10_000
BLOCK_S = 2.0
_AGAIN_S = 1.0


class RedisPurges:
    """Peers of a node. ``nearer`` are the processes of this host.

    ``seen`` is the file that remembers what was read: with a disk tier, a node that was off must not serve what was
    purged meanwhile.
    """

    def __init__(self, runtime: Runtime, link: RedisLink, nearer: Peers, seen: Path | None) -> None:
        self._runtime = runtime
        self._link = link
        self._nearer = nearer
        self._seen = seen
        self._own = os.urandom(8).hex().encode()
        self._pending: list[Purge] = []

    async def snapshots(self, *, rows: bool, slots: bool) -> list[bytes]:
        """Return what the other processes of this host know."""
        return await self._nearer.snapshots(rows=rows, slots=slots)

    async def purge(self, purge: Purge) -> int:
        """Tell this host's processes and every node; other nodes' counts are not waited for."""
        count = await self._nearer.purge(purge)
        self._pending.append(purge)
        await self._tell()
        return count

    def issued(self, digests: list[bytes], region: str, account: str) -> None:
        """Tell this host's processes; other nodes find it in the shared tier."""
        self._nearer.issued(digests, region, account)

    async def keep(self) -> None:
        """Read what other nodes tell, and tell what could not be told, for ever."""
        try:
            await self._read_on()
        finally:
            await self._link.aclose()

    async def _read_on(self) -> None:
        last = self._load()
        while True:
            try:
                if last is None:
                    last = await self._link.run(self._newest, timeout_s=1.0)
                await self._tell()
                since = last
                read = await self._link.run(
                    lambda client, since=since: client.xread({_STREAM: since}, block=round(BLOCK_S * 1000), count=100),  # type: ignore[misc]
                    timeout_s=BLOCK_S + 2,
                )
            except RedisDown:
                await asyncio.sleep(_AGAIN_S)
                continue
            for number, fields in _messages(read):
                if fields.get(b"from") != self._own:
                    await self._apply(fields.get(b"purge", b""))
                last = number
            if read:
                self._save(last)

    async def _apply(self, body: bytes) -> None:
        try:
            purge = msgspec.msgpack.decode(body, type=Purge)
        except msgspec.DecodeError:
            _log.warning("a purge of another node cannot be read; is it of another version?")
            return
        await apply_purge(self._runtime.tiers, purge, reach="node")

    async def _tell(self) -> None:
        while self._pending:
            body = msgspec.msgpack.encode(self._pending[0])
            fields = {b"from": self._own, b"purge": body}
            try:
                await self._link.run(
                    lambda client, fields=fields: client.xadd(_STREAM, fields, maxlen=_KEPT, approximate=True),  # type: ignore[misc]
                    timeout_s=1.0,
                )
            except RedisDown:
                return  # told as soon as it can be
            self._pending.pop(0)

    async def _newest(self, client: Any) -> bytes:
        newest = await client.xrevrange(_STREAM, count=1)
        return bytes(newest[0][0]) if newest else b"0"

    def _load(self) -> bytes | None:
        """Return where to read on: from the start where a disk may hold what was purged, else from now on."""
        if self._seen is None:
            return None
        try:
            return self._seen.read_bytes() or b"0"
        except OSError:
            return b"0"

    def _save(self, last: bytes | None) -> None:
        if self._seen is None or last is None:
            return
        with contextlib.suppress(OSError):  # it is read again from before then, which only forgets too much
            fresh = self._seen.with_name(f"{self._seen.name}.{os.getpid()}")
            fresh.write_bytes(last)
            fresh.replace(self._seen)


def _messages(read: Any) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """Return the messages of an XREAD, whose form depends on the protocol's version."""
    if not read:
        return []
    streams = read.values() if isinstance(read, dict) else [messages for _, messages in read]
    found = []
    for messages in streams:
        flat = messages[0] if messages and isinstance(messages[0], list) else messages
        found += [(bytes(number), dict(fields)) for number, fields in flat]
    return found
