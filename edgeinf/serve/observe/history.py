"""The last hour in slots of ten seconds: what the dashboard draws and from which it takes percentiles."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable

import msgspec

from edgeinf.core.events import REFRESH, Event

__all__ = ["SLOTS", "SLOT_S", "History", "Slot", "bucket_of", "merge_slots", "quantile"]

SLOT_S = 10
SLOTS = 360

# Spread of a percentile's bucket: each is 7 % wider than the one before, so a figure is at most 3.5 % off.
_GROWTH = math.log(1.07)


class Slot(msgspec.Struct):
    """Ten seconds. Histograms are sparse: bucket number to count."""

    at: int  # seconds since the epoch, a multiple of SLOT_S
    requests: int = 0
    hits: int = 0
    errors: int = 0
    usd_saved: float = 0.0
    ttft: dict[int, int] = {}
    duration: dict[str, dict[int, int]] = {}  # by region; hits under ""
    failed: dict[str, int] = {}  # by region

    def merge(self, other: Slot) -> None:
        """Add what another process counted in the same ten seconds."""
        self.requests += other.requests
        self.hits += other.hits
        self.errors += other.errors
        self.usd_saved += other.usd_saved
        _add(self.ttft, other.ttft)
        for region, counts in other.duration.items():
            _add(self.duration.setdefault(region, {}), counts)
        _add(self.failed, other.failed)


class History:
    """The slots of one process, oldest first."""

    def __init__(self) -> None:
        self.slots: deque[Slot] = deque(maxlen=SLOTS)

    def fold(self, event: Event) -> None:
        """Count one request in the slot of its end."""
        if event.reason == REFRESH:
            return
        at = int(event.at + (event.total_ms or 0.0) / 1000) // SLOT_S * SLOT_S
        slot = self.slots[-1] if self.slots else None
        if slot is None or slot.at < at:
            slot = Slot(at=at)
            self.slots.append(slot)
        slot.requests += 1
        failed = event.status >= 500 or event.status == 429
        slot.errors += failed
        if event.cache == "hit":
            slot.hits += 1
            slot.usd_saved += event.usd_saved or 0.0
        if event.ttft_ms is not None:
            bucket = bucket_of(event.ttft_ms)
            slot.ttft[bucket] = slot.ttft.get(bucket, 0) + 1
        region = "" if event.cache == "hit" else event.region
        if region is not None and event.total_ms is not None:
            counts = slot.duration.setdefault(region, {})
            bucket = bucket_of(event.total_ms)
            counts[bucket] = counts.get(bucket, 0) + 1
            if failed:
                slot.failed[region] = slot.failed.get(region, 0) + 1


def bucket_of(value_ms: float) -> int:
    """Return the bucket of a duration."""
    return 0 if value_ms <= 0.01 else int(math.log(value_ms / 0.01) / _GROWTH) + 1


def quantile(counts: dict[int, int], share: float) -> float | None:
    """Return a percentile in milliseconds, None where nothing was counted."""
    total = sum(counts.values())
    if total == 0:
        return None
    wanted, seen = max(1, math.ceil(share * total)), 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= wanted:
            return 0.0 if bucket == 0 else float(0.01 * math.exp((bucket - 0.5) * _GROWTH))
    raise AssertionError("a share of at most 1 is reached")


def merge_slots(histories: Iterable[Iterable[Slot]]) -> list[Slot]:
    """Return the sum of several processes' slots, oldest first."""
    merged: dict[int, Slot] = {}
    for slots in histories:
        for slot in slots:
            merged.setdefault(slot.at, Slot(at=slot.at, ttft={}, duration={}, failed={})).merge(slot)
    return [merged[at] for at in sorted(merged)][-SLOTS:]


def _add(into: dict[int, int] | dict[str, int], other: dict[int, int] | dict[str, int]) -> None:
    for name, count in other.items():
        into[name] = into.get(name, 0) + count  # type: ignore[index, arg-type]  # both sides have the same kind of name
