"""What one server process holds between requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from edgeinf.core.clock import Clock, SystemClock
from edgeinf.core.config.schema import Config
from edgeinf.serve.cache.base import Tier
from edgeinf.serve.cache.disk import DiskTier
from edgeinf.serve.cache.memory import MemoryTier
from edgeinf.serve.cache.tiers import Tiers
from edgeinf.serve.fleet.base import Alone, Peers, SharedFlights
from edgeinf.serve.flight import Flights
from edgeinf.serve.generation import Generation, make_generation
from edgeinf.serve.limits.base import Limiter
from edgeinf.serve.limits.estimate import Estimator
from edgeinf.serve.limits.local import LocalLimiter
from edgeinf.serve.memo import Memo
from edgeinf.serve.observe.bodies import redaction
from edgeinf.serve.observe.event_log import EventLog
from edgeinf.serve.observe.observer import Observer
from edgeinf.serve.observe.tracing import Tracer
from edgeinf.serve.origin.accounts import Accounts
from edgeinf.serve.origin.client import Client
from edgeinf.serve.origin.pool import Connections
from edgeinf.serve.origin.regions import Regions

if TYPE_CHECKING:
    from edgeinf.serve.observe.otel import Exporter

__all__ = ["Runtime", "make_runtime", "seed_of"]


class Runtime:
    """One process's parts. A reload replaces ``generation``; everything else lives on."""

    def __init__(
        self,
        generation: Generation,
        *,
        client: Client,
        tiers: Tiers,
        events: EventLog,
        clock: Clock,
        seed: int,
        secret: bytes,
    ) -> None:
        self.generation = generation
        self.client = client
        self.tiers = tiers
        self.events = events
        self.clock = clock
        self.seed = seed
        self.secret = secret
        self.memo = Memo()
        self.limiter: Limiter = LocalLimiter(clock)
        self.estimator = Estimator()
        self.unpriced: set[str] = set()  # models that a budget could not count
        self.regions = Regions(clock)
        self.accounts = Accounts()
        self.observer = Observer(secret)
        self.tracer: Tracer | None = None
        self.exporter: Exporter | None = None
        self.peers: Peers = Alone()
        self.shared_flights: SharedFlights | None = None
        self.rejections: dict[str, int] = {}  # how often each limit said no
        self.in_progress: Callable[[], int] = lambda: 0
        self.notices: dict[str, str] = {}  # what an operator should know at the moment, by its cause
        self.flights = Flights()
        self.pinned: dict[bytes, bytes] = {}  # find keys of answers that an origin keeps, by a digest of their id
        self.unshared: dict[bytes, float] = {}  # keys whose answers turned out unfit to share, until when
        self.resting: dict[bytes, float] = {}  # questions whose refresh brought nothing to keep, until when
        self.draining = False
        self.listeners: list[Callable[[], None]] = []

    async def aclose(self) -> None:
        """Finish what is pending and let go of everything."""
        for flight in list(self.flights.values()):
            if flight.task is not None:
                flight.task.cancel()
        await self.limiter.aclose()
        await self.tiers.aclose()
        await self.client.aclose()
        if self.exporter is not None:
            await asyncio.to_thread(self.exporter.close)
        self.events.close()


def make_runtime(config: Config, *, clock: Clock | None = None, secret: bytes | None = None) -> Runtime:
    """Return the parts that a config asks for; the processes of one host are given one secret. Raise ConfigError."""
    from edgeinf.serve.secret import event_secret

    clock = clock or SystemClock()
    cache = config.cache
    memory = None
    if cache.memory is not None:
        memory = MemoryTier(clock, max_size=cache.memory.max_size, max_entries=cache.memory.max_entries)
    far: list[Tier] = []
    if cache.disk is not None:
        far.append(DiskTier(cache.disk.path, max_size=cache.disk.max_size))
    if cache.shared is not None:
        from edgeinf.serve.cache.shared_redis import SharedTier
        from edgeinf.serve.fleet.redis_link import RedisLink

        far.append(SharedTier(RedisLink(cache.shared.url, timeout_s=cache.shared.timeout, clock=clock)))
    secret = event_secret(config) if secret is None else secret
    made = Runtime(
        make_generation(config),
        client=Connections(),
        tiers=Tiers(clock, memory, far, stale_s=max(cache.stale_if_error, cache.stale_while_revalidate)),
        events=EventLog(
            config.events.file,
            rotate_bytes=config.events.rotate,
            keep=config.events.keep,
            prepare=redaction(config.guard.redact) if config.events.bodies else None,
        ),
        clock=clock,
        seed=seed_of(config, secret),
        secret=secret,
    )
    if config.events.otlp is not None:
        from edgeinf.serve.observe.otel import Exporter

        made.exporter = Exporter(config.events.otlp)
        made.tracer = Tracer(made.exporter)
    return made


def seed_of(config: Config, secret: bytes) -> int:
    """Return the seed of the find keys: the same after a restart, in every process of a host, on every node of a fleet.

    Nodes that share a cache but no secret use none: a crafted collision is a miss all the same, since the trust digest
    is compared.
    """
    if config.cache.shared is not None and config.events.key_secret is None:
        return 0
    return int.from_bytes(secret[:8], "big")
