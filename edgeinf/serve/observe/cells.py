"""Counters of finished requests, folded from events in batches and added up over processes.

A cell holds everything that is counted for requests with the same labels. Labels that clients choose (model, place)
are bounded: beyond ``MAX_NAMES`` distinct ones the rest count as ``other``, so that nobody can fill the memory.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

import msgspec

from edgeinf.core.events import REFRESH, Event

__all__ = ["DURATIONS_S", "MAX_NAMES", "OVERHEADS_S", "RATES", "Book", "Cell", "Histogram", "Labels", "merge_cells"]

MAX_NAMES = 100

DURATIONS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0)
OVERHEADS_S = (0.00005, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.25, 1.0, 10.0)
RATES = (1.0, 5.0, 10.0, 20.0, 35.0, 50.0, 75.0, 100.0, 150.0, 200.0, 500.0, 1000.0)


class Labels(msgspec.Struct, frozen=True, array_like=True):
    """What tells cells apart; empty where it does not apply."""

    dialect: str
    model: str
    region: str
    cache: str
    tier: str
    status: str
    error: str
    place: str


class Histogram(msgspec.Struct, array_like=True):
    """Counts per bucket, the last one without an upper end, and the sum of all values."""

    counts: list[int]
    sum: float = 0.0

    def add(self, value: float, bounds: tuple[float, ...]) -> None:
        """Count one value."""
        self.counts[bisect_left(bounds, value)] += 1
        self.sum += value

    def merge(self, other: Histogram) -> None:
        """Add what another process counted."""
        self.counts = [a + b for a, b in zip(self.counts, other.counts, strict=True)]
        self.sum += other.sum


class Cell(msgspec.Struct):
    """What is counted for one set of labels."""

    duration: Histogram
    ttft: Histogram
    overhead: Histogram
    rate: Histogram
    requests: int = 0
    attempts: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    usd: float = 0.0
    usd_saved: float = 0.0
    seconds_saved: float = 0.0
    stored: int = 0

    def merge(self, other: Cell) -> None:
        """Add what another process counted."""
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("duration", "ttft", "overhead", "rate"):
            getattr(self, name).merge(getattr(other, name))


_SUMS = tuple(n for n in Cell.__struct_fields__ if n not in ("duration", "ttft", "overhead", "rate"))


def _empty() -> Cell:
    return Cell(
        duration=Histogram([0] * (len(DURATIONS_S) + 1)),
        ttft=Histogram([0] * (len(DURATIONS_S) + 1)),
        overhead=Histogram([0] * (len(OVERHEADS_S) + 1)),
        rate=Histogram([0] * (len(RATES) + 1)),
    )


class Book:
    """The cells of one process."""

    def __init__(self) -> None:
        self.cells: dict[Labels, Cell] = {}
        self._by_raw: dict[tuple[object, ...], Cell] = {}
        self._names: dict[str, set[str]] = {"model": set(), "place": set()}

    def fold(self, event: Event, saved_ms: float | None) -> None:
        """Count one request; ``saved_ms`` is what its answer took the first time, where it came from the cache."""
        raw = (
            event.dialect, event.model, event.region, event.cache, event.tier, event.status, event.error,
            event.client_place,
        )  # fmt: skip
        cell = self._by_raw.get(raw)
        if cell is None:
            cell = self._cell(event)
            if len(self._by_raw) > 50 * MAX_NAMES:
                self._by_raw.clear()
            self._by_raw[raw] = cell
        cell.attempts += event.attempts
        cell.input_tokens += event.input_tokens or 0
        cell.output_tokens += event.output_tokens or 0
        cell.cached_tokens += event.cached_tokens or 0
        cell.cache_write_tokens += event.cache_write_tokens or 0
        cell.usd += event.usd or 0.0
        cell.usd_saved += event.usd_saved or 0.0
        cell.stored += event.stored
        if event.reason == REFRESH:
            return  # nobody has waited for it
        cell.requests += 1
        total_ms = event.total_ms or 0.0
        cell.duration.add(total_ms / 1000, DURATIONS_S)
        cell.overhead.add((event.edgeinf_ms or 0.0) / 1000, OVERHEADS_S)
        if saved_ms is not None:
            cell.seconds_saved += max(0.0, saved_ms - total_ms) / 1000
        ttft_ms = event.ttft_ms
        if ttft_ms is not None:
            cell.ttft.add(ttft_ms / 1000, DURATIONS_S)
            tokens = event.output_tokens
            if event.stream and event.cache == "miss" and tokens is not None and tokens > 1 and total_ms > ttft_ms:
                cell.rate.add((tokens - 1) * 1000 / (total_ms - ttft_ms), RATES)

    def _cell(self, event: Event) -> Cell:
        labels = Labels(
            event.dialect,
            self._bounded("model", event.model),
            event.region or "",
            event.cache,
            event.tier or "",
            str(event.status),
            event.error or "",
            self._bounded("place", event.client_place),
        )
        return self.cells.setdefault(labels, _empty())

    def _bounded(self, kind: str, name: str | None) -> str:
        if not name:
            return ""
        known = self._names[kind]
        if name not in known:
            if len(known) >= MAX_NAMES:
                return "other"
            known.add(name)
        return name[:128]


def merge_cells(books: Iterable[list[tuple[Labels, Cell]]]) -> dict[Labels, Cell]:
    """Return the sum of several processes' cells."""
    merged: dict[Labels, Cell] = {}
    for book in books:
        for labels, cell in book:
            merged.setdefault(labels, _empty()).merge(cell)
    return merged
