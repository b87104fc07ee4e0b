"""Where finished requests are counted: a list on the request path, folded into figures in batches."""

from __future__ import annotations

import os
import time

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.events import Event
from edgeinf.serve.cache.base import TierStats
from edgeinf.serve.observe.cells import Book, Cell, Labels
from edgeinf.serve.observe.history import History, Slot
from edgeinf.serve.observe.recent import Recent, Row

__all__ = ["Gauges", "Observer", "RegionState", "Snapshot"]

# Requests that wait to be folded; a batch takes about 0.2 ms, which no other request should notice.
_BATCH = 64


class RegionState(msgspec.Struct, kw_only=True):
    """How a region is, as one process sees it. ``saturation`` is the share of its capacity in use, 0 to 1."""

    name: str
    healthy: bool = True
    in_flight: int = 0
    max_concurrency: int | None = None
    saturation: float | None = None
    waiting: int | None = None
    note: str = ""


class Gauges(msgspec.Struct, kw_only=True):
    """What one process has at this moment."""

    pid: int = 0
    started_at: float = 0.0
    in_progress: int = 0
    flights: int = 0
    memory_bytes: int = 0
    open_files: int = 0
    tasks: int = 0
    cpu_seconds: float = 0.0
    events_written: int = 0
    events_dropped: int = 0
    events_waiting: int = 0
    cache_writes_dropped: int = 0
    tiers: list[TierStats] = []
    failures: dict[str, str] = {}
    regions: list[RegionState] = []
    limits: dict[str, int] = {}
    notes: list[str] = []


class Snapshot(msgspec.Struct, kw_only=True):
    """Everything one process knows, as it is sent to whoever adds processes up."""

    cells: list[tuple[Labels, Cell]]
    slots: list[Slot] = []
    rows: list[Row] = []
    gauges: Gauges


class Observer:
    """Counts the requests of one process."""

    def __init__(self, secret: bytes) -> None:
        self.started_at = time.time()
        self.book = Book()
        self.history = History()
        self.recent = Recent(secret)
        self._waiting: list[tuple[Event, float | None, Call | None, int]] = []

    def note(self, event: Event, call: Call | None, size: int, saved_ms: float | None) -> None:
        """Take a finished request; ``size`` is that of its body, ``saved_ms`` what a hit's answer first took."""
        self._waiting.append((event, saved_ms, call if event.cache == "miss" else None, size))
        if len(self._waiting) >= _BATCH:
            self.fold()

    def fold(self) -> None:
        """Count what waits."""
        waiting, self._waiting = self._waiting, []
        for event, saved_ms, call, size in waiting:
            self.book.fold(event, saved_ms)
            self.history.fold(event)
            self.recent.add(event, call, size)

    def snapshot(self, gauges: Gauges, *, rows: bool = True, slots: bool = True) -> Snapshot:
        """Return what is known, everything noted so far included."""
        self.fold()
        gauges.pid = os.getpid()
        gauges.started_at = self.started_at
        return Snapshot(
            cells=list(self.book.cells.items()),
            slots=list(self.history.slots) if slots else [],
            rows=self.recent.rows() if rows else [],
            gauges=gauges,
        )
