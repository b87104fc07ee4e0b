"""The hit rate by model, route, tenant and hour, and why requests are not eligible."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np

from edgeinf.analyze.columns import ELIGIBLE, Group
from edgeinf.analyze.levels import LevelRun
from edgeinf.analyze.log import Log
from edgeinf.analyze.scopes import Scoped

__all__ = ["Segment", "ineligible", "segments"]

_MOST = 50


class Segment(msgspec.Struct, frozen=True):
    """Requests that have a value in common."""

    value: str | int
    requests: int
    hits: int
    hit_rate: float


def segments(log: Log, run: LevelRun) -> dict[str, list[Segment] | None]:
    """Return the segments of each kind, largest first; None where the log does not say."""
    by: dict[str, Callable[[Group], str | None]] = {
        "model": lambda g: g.model or None,
        "route": lambda g: g.route,
        "tenant": lambda g: g.tenant or g.team or g.key_id,
    }
    requests = np.bincount(log.group, minlength=len(log.groups))
    hits = np.bincount(log.group, weights=run.hit, minlength=len(log.groups))
    found: dict[str, list[Segment] | None] = {}
    for kind, value_of in by.items():
        totals: dict[str, list[int]] = {}
        for number, group in enumerate(log.groups):
            value = value_of(group)
            if value is not None and requests[number]:
                total = totals.setdefault(value, [0, 0])
                total[0] += int(requests[number])
                total[1] += int(hits[number])
        rows = [Segment(value, r, h, h / r) for value, (r, h) in totals.items()]
        found[kind] = sorted(rows, key=lambda s: (-s.requests, str(s.value)))[:_MOST] or None
    found["hour"] = _hours(log, run)
    return found


def _hours(log: Log, run: LevelRun) -> list[Segment] | None:
    """Return the hours of the day, UTC; only where times are a date's and not counted from the log's start."""
    if log.at is None or log.at[0] < 1e8:
        return None
    hour = (log.at % 86400 // 3600).astype(np.int64)
    requests, hits = np.bincount(hour, minlength=24), np.bincount(hour, weights=run.hit, minlength=24)
    return [Segment(h, int(requests[h]), int(hits[h]), float(hits[h] / requests[h])) for h in range(24) if requests[h]]


def ineligible(log: Log, scope: Scoped) -> dict[str, int]:
    """Return how many requests are not eligible, by reason."""
    counts = np.bincount(log.reason, minlength=len(log.reasons))
    found = {name: int(counts[number]) for number, name in enumerate(log.reasons) if number and counts[number]}
    if scope.allowed is not None:
        lacking = int((log.has(ELIGIBLE) & ~scope.allowed).sum())
        if lacking:
            found["no-user"] = lacking
    return dict(sorted(found.items(), key=lambda item: -item[1]))
