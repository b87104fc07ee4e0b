"""One fetch for equal questions over nodes: a lease in Redis; who does not get it waits for the answer to be stored.

The lease names its holder and whether a stream is fetched: then who wants a stream reads it live.

Otherwise nothing that was said while the lease was held is taken on trust: the waiting node looks the answer up like
any other.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from edgeinf.serve.exchange import Exchange
from edgeinf.serve.fleet.base import SharedFlights
from edgeinf.serve.fleet.member import FIND_BYTES, fill_from
from edgeinf.serve.fleet.redis_link import RedisDown, RedisLink
from edgeinf.serve.fleet.redis_streams import RedisStreams
from edgeinf.serve.flight import Flight

if TYPE_CHECKING:
    from edgeinf.serve.runtime import Runtime

__all__ = ["RedisFlights"]

_PREFIX = b"edgeinf:f:"
_STREAM, _WHOLE = b"s", b"w"
# A lease outlives a node that dies by this; the others then fetch for themselves.
_LEASE_S = 10.0
_RENEW_S = 3.0
# A whole answer is as good late; the reader of a stream that cannot be followed sees nothing, so it waits but a moment.
_PATIENCE_S = {False: 60.0, True: 2.0}
_FIRST_S, _MOST_S = 0.01, 0.1

_RELEASE = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
_RENEW = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0"


class RedisFlights:
    """SharedFlights of a node. ``nearer`` joins the processes of this host, and is asked first."""

    def __init__(self, runtime: Runtime, link: RedisLink, nearer: SharedFlights | None, streams: RedisStreams) -> None:
        self._runtime = runtime
        self._link = link
        self._nearer = nearer
        self._streams = streams
        self._held: dict[bytes, tuple[Flight, bytes, asyncio.Task[None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def board(self, x: Exchange, flight: Flight, find: bytes) -> bool:
        """Wait for the node that fetches the same, or lead."""
        if self._nearer is not None and await self._nearer.board(x, flight, find):
            return True
        key = _PREFIX + find[:FIND_BYTES]
        assert x.call is not None
        token = b":".join((self._streams.node, os.urandom(8).hex().encode(), _STREAM if x.call.stream else _WHOLE))
        end = time.perf_counter() + _PATIENCE_S[x.call.stream]
        try:
            if await self._lease(key, token):
                # Between the lookup and the lease another node may have stored it.
                if await fill_from(x, flight, self._runtime):
                    await self._release(key, token)
                    return True
                if x.call.stream:
                    self._streams.lead(token, flight, x.keys[0].trust)
                self._held[find] = (flight, token, asyncio.create_task(self._renew(key, token)))
                return False
            return await self._wait(x, flight, key, end)
        except RedisDown:
            return False

    def land(self, flight: Flight, find: bytes) -> None:
        """Give the lease back, once what was stored can be found."""
        if self._nearer is not None:
            self._nearer.land(flight, find)
        held = self._held.get(find)
        if held is None or held[0] is not flight:
            return
        del self._held[find]
        held[2].cancel()
        task = asyncio.get_running_loop().create_task(self._landed(flight, _PREFIX + find[:FIND_BYTES], held[1]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _landed(self, flight: Flight, key: bytes, token: bytes) -> None:
        if flight.stored:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(5.0):
                    await self._runtime.tiers.flush()
        await self._streams.landed(token)
        with contextlib.suppress(RedisDown):
            await self._release(key, token)

    async def _wait(self, x: Exchange, flight: Flight, key: bytes, end: float) -> bool:
        """Wait until the lease is gone, then look; what did not come in time is fetched here.

        Where both want a stream it is followed live.
        """
        assert x.call is not None
        started, pause = time.perf_counter(), _FIRST_S
        while time.perf_counter() < end:
            await asyncio.sleep(pause)
            pause = min(_MOST_S, 1.5 * pause)
            held = await self._link.run(lambda client: client.get(key))
            if x.call.stream and isinstance(held, bytes) and held.endswith(b":" + _STREAM):
                followed = await self._streams.follow(x, flight, key, held)
                if followed is not None:
                    return followed
                held = None
            flight.origin_ms = (time.perf_counter() - started) * 1000
            if not held:
                found = await fill_from(x, flight, self._runtime)
                if found:
                    x.cache, x.tier = "collapsed", None
                return found
        flight.origin_ms = 0.0
        return False

    async def _lease(self, key: bytes, token: bytes) -> bool:
        got = await self._link.run(lambda client: client.set(key, token, nx=True, px=round(_LEASE_S * 1000)))
        return bool(got)

    async def _release(self, key: bytes, token: bytes) -> None:
        await self._link.run(lambda client: client.eval(_RELEASE, 1, key, token))

    async def _renew(self, key: bytes, token: bytes) -> None:
        arguments: list[Any] = [key, token, round(_LEASE_S * 1000)]
        while True:
            await asyncio.sleep(_RENEW_S)
            with contextlib.suppress(RedisDown):
                await self._link.run(lambda client: client.eval(_RENEW, 1, *arguments))
