"""The way to one Redis or Valkey: never waited for longer than its timeout, left out while it fails, tried by one.

URLs: ``redis://``, ``rediss://``, ``unix://``; ``redis+sentinel://host:26379,host2:26379/service/0`` and
``redis+cluster://host:6379,host2:6379``, each also with ``rediss+``. Several calls that time out in a row, or one
connection that is refused, leave it out; after a rest, a random bit longer on each node, a single call finds out
whether it is back.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
from collections.abc import Awaitable, Callable
from importlib.util import find_spec
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from edgeinf.core.clock import Clock
from edgeinf.core.errors import UsageError
from edgeinf.core.redact import redact

__all__ = ["RedisDown", "RedisFull", "RedisLink"]

_log = logging.getLogger("edgeinf.fleet")

T = TypeVar("T")

_REST_S = 2.0
_STRIKES = 3
_CONNECTIONS = 32
# A connection may take longer than a call: it is made once.
_CONNECT_S = 0.8
_LOOK_S = 0.5
# Longer than connecting and the first words take at most: what is cut off in the middle of it leaves a socket behind.
_LATE_S = 2.5


class RedisDown(Exception):
    """It cannot be asked now; the message says why, without secrets."""


class RedisFull(RedisDown):
    """It answers, and has no room for what was to be written."""


class RedisLink:
    """One Redis. ``down`` says why it is left out at the moment, None while it is used.

    ``waits_s`` is for how long a call may ask it to be silent.
    """

    def __init__(self, url: str, *, timeout_s: float, clock: Clock, waits_s: float = 0.0) -> None:
        if find_spec("redis") is None:
            raise UsageError("sharing needs the redis library", hint="pip install 'edgeinf[redis]'")
        self.timeout_s = timeout_s
        self.down: str | None = None
        self.on_change: Callable[[str | None], None] = lambda down: None
        self._url = url
        self._read_s = waits_s + max(_CONNECT_S, timeout_s)  # nothing is silent for longer, but what is asked to be
        self._clock = clock
        self._client: Any = None
        self._strikes = 0
        self._rests_until = 0.0
        self._probing = False
        self._closed = False
        self._running: set[asyncio.Future[Any]] = set()
        self._closing: set[asyncio.Future[None]] = set()

    @property
    def place(self) -> str:
        """Where it is, without credentials."""
        return urlsplit(self._url).netloc.rpartition("@")[2] or "a socket"

    async def run(self, work: Callable[[Any], Awaitable[T]], *, timeout_s: float | None = None) -> T:
        """Return what ``work`` makes of the client. Raise RedisDown at once while it is left out."""
        probing = False
        if self.down is not None:
            if self._probing or self._clock.monotonic() < self._rests_until:
                raise RedisDown(self.down)
            probing = self._probing = True
        try:
            result = await self._within(work, timeout_s or max(self.timeout_s, _CONNECT_S if probing else 0.0))
        except Exception as error:
            raise self._failed(error) from None
        finally:
            if probing:
                self._probing = False
        self._strikes = 0
        if self.down is not None:
            self._say(None)
        return result

    async def _within(self, work: Callable[[Any], Awaitable[T]], timeout_s: float) -> T:
        """Wait so long and not longer; a late call is left to end by itself for a while.

        A call that is cut off takes its connection with it, and a slow Redis must not also have to take new ones.
        """
        task = asyncio.ensure_future(self._once_more(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            done, _ = await asyncio.wait({task}, timeout=timeout_s)
        except asyncio.CancelledError:
            task.cancel()
            self._leave(task)
            raise
        if not done:
            self._leave(task)
            raise TimeoutError
        return task.result()

    def _leave(self, task: asyncio.Future[T]) -> None:
        late = asyncio.ensure_future(_end(task))
        self._closing.add(late)
        late.add_done_callback(self._closing.discard)

    async def _once_more(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """Try again over new connections where an old one turns out to be dead, as after a restart."""
        from redis import exceptions

        fresh = self._client is None
        try:
            return await work(self._opened())
        except (exceptions.ConnectionError, OSError):
            self._drop()
            if fresh:
                raise
            return await work(self._opened())

    def _opened(self) -> Any:
        if self._closed:
            raise ConnectionError("closed")
        if self._client is None:
            self._client = _open(self._url, self.timeout_s, self._read_s)
        return self._client

    def _drop(self) -> None:
        """Let go of every connection: where one is dead, the others are too."""
        client, self._client = self._client, None
        if client is not None:
            task = asyncio.ensure_future(_retire(client, set(self._running)))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def keep(self) -> None:
        """Find out whether it is there, also while nobody asks, for ever: who looks at the figures wants to know."""
        while True:
            await asyncio.sleep(_LOOK_S)
            with contextlib.suppress(RedisDown):
                await self.run(lambda client: client.ping())

    async def aclose(self) -> None:
        """Close every connection; whoever asks afterwards is told that it is down."""
        self._closed = True
        self._drop()
        if self._closing:
            await asyncio.wait(self._closing, timeout=3 * _LATE_S)

    def _say(self, down: str | None) -> None:
        before, self.down = self.down, down
        if (before is None) != (down is None):
            if down is None:
                _log.warning("redis at %s is used again", self.place)
            else:
                _log.warning("%s; it is left out and tried again", down)
            self.on_change(down)

    def _failed(self, error: Exception) -> RedisDown:
        from redis import exceptions

        if isinstance(error, exceptions.OutOfMemoryError):
            return RedisFull(f"redis at {self.place} has no room")
        reason = redact(str(error)) or type(error).__name__
        if isinstance(error, TimeoutError | exceptions.TimeoutError):
            reason = f"no answer within {self.timeout_s * 1000:g} ms"
            self._strikes += 1
        else:
            self._strikes = _STRIKES
            if not isinstance(error, exceptions.RedisError | OSError):
                _log.error("a bug while asking redis at %s", self.place, exc_info=error)
        said = f"redis at {self.place} cannot be used: {reason}"
        if self.down is not None or self._strikes >= _STRIKES:
            self._drop()
            self._say(said)
            # All nodes see it fail at once; they must not all come back at once.
            self._rests_until = self._clock.monotonic() + _REST_S * random.uniform(0.75, 1.25)
        return RedisDown(said)


def _open(url: str, timeout_s: float, read_s: float) -> Any:
    """Return a client for a URL."""
    from redis import asyncio as redis
    from redis.asyncio.cluster import ClusterNode
    from redis.asyncio.retry import Retry
    from redis.asyncio.sentinel import Sentinel
    from redis.backoff import NoBackoff

    options: dict[str, Any] = {
        "socket_connect_timeout": _CONNECT_S,
        "socket_timeout": read_s,
        "retry": Retry(NoBackoff(), 0),
    }
    scheme, _, rest = url.partition("://")
    kind = scheme.partition("+")[2]
    if scheme != "unix":
        options["socket_keepalive"] = True
    if not kind:
        pool = redis.BlockingConnectionPool.from_url(url, max_connections=_CONNECTIONS, timeout=timeout_s, **options)
        return redis.Redis.from_pool(pool)
    if scheme.startswith("rediss"):
        options["ssl"] = True
    login, _, places = rest.rpartition("@")
    hosts, _, path = places.partition("/")
    user, _, password = login.partition(":")
    if user or password:
        options |= {"username": unquote(user) or None, "password": unquote(password) or None}
    addresses = [_address(place, 26379 if kind == "sentinel" else 6379) for place in hosts.split(",")]
    if kind == "cluster":
        nodes = [ClusterNode(host, port) for host, port in addresses]
        return redis.RedisCluster(startup_nodes=nodes, max_connections=_CONNECTIONS, **options)
    service, _, db = path.partition("/")
    make: Any = Sentinel  # its constructor has no types
    own = {name: value for name, value in options.items() if name not in ("username", "password")}
    sentinel = make(addresses, sentinel_kwargs=own, **options)
    return sentinel.master_for(service or "mymaster", db=int(db or 0))


async def _end(task: asyncio.Future[Any]) -> None:
    await asyncio.wait({task}, timeout=_LATE_S)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _retire(client: Any, running: set[asyncio.Future[Any]]) -> None:
    """Close a client when the calls that may still open a connection of it are over."""
    if running:
        await asyncio.wait(running, timeout=2 * _LATE_S)
    with contextlib.suppress(Exception):  # whatever state its connections are in, this process lets go of them
        async with asyncio.timeout(1.0):
            await client.aclose()
            manager = getattr(getattr(client, "connection_pool", None), "sentinel_manager", None)
            for sentinel in manager.sentinels if manager is not None else ():
                await sentinel.aclose()
            nodes = getattr(client, "nodes_manager", None)
            if nodes is not None:  # a cluster that never came up closes nothing by itself
                await nodes.aclose("startup_nodes")
                await nodes.aclose("nodes_cache")


def _address(place: str, port: int) -> tuple[str, int]:
    if place.startswith("["):
        host, _, rest = place[1:].partition("]")
        return host, int(rest.lstrip(":") or port)
    host, _, given = place.partition(":")
    return host, int(given or port)
