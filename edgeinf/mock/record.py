"""What an origin saw: each call with its instants, and the counts."""

from __future__ import annotations

from collections import Counter, deque
from time import perf_counter_ns
from typing import Any

from edgeinf.mock.values import Ask, Kind

__all__ = ["Call", "Record"]


class Call:
    """One request and what became of it. Instants are ``perf_counter_ns``, 0 if it did not happen.

    ``outcome``: ``running``, ``done``, ``cut`` or ``reset`` (the script's doing), ``disconnected`` (the client's).
    ``event_ns`` and ``event_kinds`` hold one entry per event sent, or one for a whole body.
    """

    __slots__ = (
        *("_ask", "connection", "connection_use", "disconnected_ns", "ended_ns", "event_kinds", "event_ns"),
        *("faults", "headers_ns", "outcome", "received_ns", "sent_bytes", "started_ns", "status"),
    )

    def __init__(self, ask: Ask, *, started_ns: int, connection: int, connection_use: int) -> None:
        self._ask = ask
        self.started_ns = started_ns
        self.received_ns = perf_counter_ns()
        self.headers_ns = 0
        self.event_ns: list[int] = []
        self.event_kinds: list[Kind] = []
        self.disconnected_ns = 0
        self.ended_ns = 0
        self.outcome = "running"
        self.status = 0
        self.sent_bytes = 0
        self.faults: tuple[str, ...] = ()
        self.connection = connection
        self.connection_use = connection_use

    def __repr__(self) -> str:
        return f"<Call {self.number}: {self.method} {self.path} {self.status} {self.outcome}>"

    @property
    def number(self) -> int:
        """Position among the calls, from 1."""
        return self._ask.number

    @property
    def method(self) -> str:
        return self._ask.method

    @property
    def path(self) -> str:
        return self._ask.path

    @property
    def query(self) -> str:
        return self._ask.query

    @property
    def body(self) -> bytes:
        """The body's bytes as they came, chunk framing removed, content encoding kept."""
        return self._ask.body

    @property
    def json(self) -> Any:
        """The body as JSON, None if it is not."""
        return self._ask.json

    @property
    def model(self) -> str:
        return self._ask.model

    @property
    def stream(self) -> bool:
        return self._ask.stream

    @property
    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        return self._ask.headers

    @property
    def headers(self) -> dict[str, str]:
        """The headers by lower-case name; of several with one name, the last."""
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self._ask.headers}

    @property
    def token_ns(self) -> list[int]:
        """When the token-bearing events were sent."""
        pairs = zip(self.event_kinds, self.event_ns, strict=True)
        return [at for kind, at in pairs if kind is Kind.TOKEN]


class Record:
    """The calls of one origin, the latest ``keep`` of them in full, and counts over all."""

    def __init__(self, keep: int = 100_000) -> None:
        self._keep = keep
        self.clear()

    def clear(self) -> None:
        """Forget everything; calls that still run are no longer counted when they end."""
        self.calls: deque[Call] = deque(maxlen=self._keep)
        self.total = 0
        self.posts = 0
        self.paths: Counter[str] = Counter()
        self.active: set[Call] = set()
        self.peak = 0
        self.connections = 0

    def begin(self, call: Call) -> None:
        """Count a call that was received in full."""
        self.calls.append(call)
        self.total += 1
        self.posts += call.method == "POST"
        self.paths[call.path] += 1
        active = self.active
        active.add(call)
        if len(active) > self.peak:
            self.peak = len(active)

    def end(self, call: Call, outcome: str) -> None:
        """Note how a call ended."""
        if call.outcome != "running":
            return
        call.outcome = outcome
        call.ended_ns = perf_counter_ns()
        if outcome == "disconnected":
            call.disconnected_ns = call.ended_ns
        self.active.discard(call)
