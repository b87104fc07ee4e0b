"""One attempt at one target: connection, exchange, verdict. It never raises for what the network does."""

from __future__ import annotations

import threading
import time
from time import perf_counter_ns

from edgeinf.probe.address import parse_url
from edgeinf.probe.exchange import exchange
from edgeinf.probe.follow import follow
from edgeinf.probe.request import Request
from edgeinf.probe.transport import Connection, Route, connect
from edgeinf.probe.values import Attempt, Failure, Instants, Phase, Target

__all__ = ["Client"]


class Client:
    """Keeps the connections of one target; safe to use from several threads."""

    def __init__(self, target: Target, route: Route, *, keep: int = 1) -> None:
        self.target = target
        self.keep = keep  # idle connections at most
        self.place = parse_url(target.url)
        self._route = route
        self._idle: list[Connection] = []
        self._opened = 0
        self._lock = threading.Lock()

    @property
    def opened(self) -> int:
        """Return how many connections were opened so far."""
        return self._opened

    def attempt(
        self,
        request: Request,
        *,
        round: int,
        phase: Phase,
        fresh: bool = False,
        scheduled: int | None = None,
        body: bytearray | None = None,
    ) -> Attempt:
        """Send a request once. A warm attempt that finds no open connection is a cold one, and says so.

        ``body`` collects the answer where no completion is asked for.
        """
        instants = Instants(scheduled=scheduled, start=perf_counter_ns())
        attempt = Attempt(
            target=self.target.name,
            round=round,
            phase=phase,
            at=time.time(),
            instants=instants,
            open_loop=scheduled is not None,
        )
        connection = None
        try:
            connection = None if fresh else self._take()
            if connection is None:
                attempt.phase = "cold" if phase == "warm" else phase
                connection = connect(self.place, self._route, instants, number=self._number())
            else:
                attempt.reused = True
            attempt.ip, attempt.family = connection.ip, connection.family
            attempt.connection = connection.number
            attempt.certificate_expires = connection.certificate_expires
            before = connection.full_reads
            origin = f"http://{self.place.authority}"
            parts, pace = exchange(connection, request, origin, instants, self._route.timeouts)
            try:
                follow(attempt, request, parts, pace, body)
            finally:
                attempt.full_reads = connection.full_reads - before
            attempt.detail = None
        except Failure as failure:
            attempt.error, attempt.detail = failure.kind, failure.detail
            attempt.ip, attempt.family = attempt.ip or failure.ip, attempt.family or failure.family
        finally:
            if connection is not None:
                self._give_back(connection)
        return attempt

    def prepare(self, count: int) -> None:
        """Open connections ahead of a load, so that handshakes are not part of it. Failures show in the load."""
        for _ in range(count - len(self._idle)):
            try:
                self._give_back(connect(self.place, self._route, Instants(), number=self._number()))
            except Failure:
                return

    def _number(self) -> int:
        with self._lock:
            self._opened += 1
            return self._opened

    def _take(self) -> Connection | None:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None or connection.idle():
                return connection
            connection.close()

    def _give_back(self, connection: Connection) -> None:
        """Keep a connection if it can carry another request; the newest are kept."""
        surplus = [connection]
        if connection.idle():
            with self._lock:
                self._idle.append(connection)
                surplus, self._idle = self._idle[: -self.keep], self._idle[-self.keep :]
        for old in surplus:
            old.close()

    def close(self) -> None:
        """Close every connection that is kept."""
        with self._lock:
            kept, self._idle = self._idle, []
        for connection in kept:
            connection.close()
