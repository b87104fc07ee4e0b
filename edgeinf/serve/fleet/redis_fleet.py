"""Join the nodes that share a Redis: purges, fetches and answers under way by the cache's, limits by their own."""

from __future__ import annotations

import os
import socket
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from edgeinf.serve.cache.shared_redis import SharedTier
from edgeinf.serve.fleet.redis_flights import RedisFlights
from edgeinf.serve.fleet.redis_limits import RedisLimiter
from edgeinf.serve.fleet.redis_link import RedisLink
from edgeinf.serve.fleet.redis_purges import BLOCK_S, RedisPurges
from edgeinf.serve.fleet.redis_streams import RedisStreams

if TYPE_CHECKING:
    from edgeinf.serve.runtime import Runtime

__all__ = ["join_fleet"]


def join_fleet(runtime: Runtime, *, host: str = "") -> list[Coroutine[Any, Any, None]]:
    """Let the runtime share what its config says, and return what must run beside it.

    ``host`` names the node where several processes are one.
    """
    config = runtime.generation.config
    beside: list[Coroutine[Any, Any, None]] = []
    shared = next((tier for tier in runtime.tiers.far if isinstance(tier, SharedTier)), None)
    if shared is not None:
        assert config.cache.shared is not None
        shared.link.on_change = lambda down: _note(
            runtime, "shared", f"{down}: answered from this node's own tiers" if down else None
        )
        full = f"redis at {shared.link.place} has no room: new answers are kept on this node only"
        shared.on_full = lambda is_full: _note(runtime, "full", full if is_full else None)
        # Connections of their own: there they wait for seconds, which no lookup's timeout must cut.
        listening, hearing = (
            RedisLink(config.cache.shared.url, timeout_s=1.0, clock=runtime.clock, waits_s=BLOCK_S) for _ in range(2)
        )
        streams = RedisStreams(runtime, shared.link, hearing)
        runtime.shared_flights = RedisFlights(runtime, shared.link, runtime.shared_flights, streams)
        seen = None if config.cache.disk is None else config.cache.disk.path / "purges.seen"
        purges = RedisPurges(runtime, listening, runtime.peers, seen)
        runtime.peers = purges
        beside += [purges.keep(), streams.keep(), shared.link.keep()]
    if config.limits_shared is not None:
        there = config.limits_shared
        link = RedisLink(there.url, timeout_s=there.timeout, clock=runtime.clock)
        node = host or f"{socket.gethostname()}:{os.getpid()}:{os.urandom(4).hex()}"
        limiter = RedisLimiter(link, runtime.clock, runtime.limiter, node)
        link.on_change = lambda down: _note(
            runtime, "limits", f"{down}: limits hold at this node's share, one of {limiter.nodes}" if down else None
        )
        runtime.limiter = limiter
        beside += [limiter.keep(), link.keep()]
    return beside


def _note(runtime: Runtime, cause: str, text: str | None) -> None:
    if text is None:
        runtime.notices.pop(cause, None)
    else:
        runtime.notices[cause] = text
