"""The dashboard's figures as one JSON document; totals count since the start and equal those of ``/metrics``."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from edgeinf import __version__
from edgeinf.serve.observe.cells import Cell, Labels
from edgeinf.serve.observe.gather import View
from edgeinf.serve.observe.history import SLOT_S, Slot, quantile

__all__ = ["WINDOW_S", "stats_document"]

WINDOW_S = 300
_MODELS = 20


def stats_document(view: View, now: float | None = None) -> dict[str, Any]:
    """Return what the dashboard and ``edgeinf top`` show."""
    now = time.time() if now is None else now
    started = min(gauges.started_at for gauges in view.workers)
    recent = [slot for slot in view.slots if slot.at >= now - WINDOW_S - SLOT_S]
    return {
        "schema_version": 1,
        "version": __version__,
        "at": now,
        "started_at": started,
        "workers": len(view.workers),
        "totals": _totals(view.cells),
        "window": _window(recent, min(WINDOW_S, max(1.0, now - started))),
        "series": _series(view.slots, now),
        "regions": _regions(view, recent),
        "models": _models(view.cells),
        "tiers": _tiers(view),
        "limits": _summed(gauges.limits for gauges in view.workers),
        "events": {
            "written": sum(g.events_written for g in view.workers),
            "dropped": sum(g.events_dropped for g in view.workers),
            "waiting": sum(g.events_waiting for g in view.workers),
        },
        "in_progress": sum(g.in_progress for g in view.workers),
        "notes": sorted({note for gauges in view.workers for note in gauges.notes}),
    }


def _totals(cells: dict[Labels, Cell]) -> dict[str, Any]:
    by = dict.fromkeys(("hit", "miss", "bypass", "stale", "collapsed"), 0)
    for at, cell in cells.items():
        by[at.cache] = by.get(at.cache, 0) + cell.requests
    requests = sum(cell.requests for cell in cells.values())
    hits = [cell for at, cell in cells.items() if at.cache == "hit"]
    own_s = sum(cell.overhead.sum for cell in cells.values())
    return {
        "requests": requests,
        "hits": by["hit"],
        "misses": by["miss"],
        "bypassed": by["bypass"],
        "stale": by["stale"],
        "collapsed": by["collapsed"],
        "hit_rate": by["hit"] / requests if requests else None,
        "errors": sum(cell.requests for at, cell in cells.items() if at.status >= "400"),
        "usd": sum(cell.usd for cell in cells.values()),
        "usd_saved": sum(cell.usd_saved for cell in hits),
        "seconds_saved": sum(cell.seconds_saved for cell in hits),
        "input_tokens": sum(cell.input_tokens for cell in cells.values()),
        "output_tokens": sum(cell.output_tokens for cell in cells.values()),
        "tokens_saved": sum(cell.input_tokens + cell.output_tokens for cell in hits),
        "overhead_ms_mean": 1000 * own_s / requests if requests else None,
    }


def _window(slots: list[Slot], seconds: float) -> dict[str, Any]:
    requests = sum(slot.requests for slot in slots)
    ttft: dict[int, int] = {}
    for slot in slots:
        for bucket, count in slot.ttft.items():
            ttft[bucket] = ttft.get(bucket, 0) + count
    return {
        "seconds": round(seconds),
        "requests": requests,
        "requests_per_s": requests / seconds,
        "hit_rate": sum(slot.hits for slot in slots) / requests if requests else None,
        "errors": sum(slot.errors for slot in slots),
        "ttft_ms": _percentiles(ttft),
    }


def _series(slots: list[Slot], now: float) -> dict[str, Any]:
    """Return the last hour without gaps, one value per slot."""
    by_time = {slot.at: slot for slot in slots}
    last = int(now) // SLOT_S * SLOT_S
    first = max(min(by_time, default=last), last - 3600 + SLOT_S)
    times = range(first, last + 1, SLOT_S)
    held = [by_time.get(at, Slot(at=at)) for at in times]
    return {
        "step_s": SLOT_S,
        "at": list(times),
        "requests": [slot.requests for slot in held],
        "hits": [slot.hits for slot in held],
        "errors": [slot.errors for slot in held],
        "usd_saved": [slot.usd_saved for slot in held],
        "ttft_ms_p50": [quantile(slot.ttft, 0.5) for slot in held],
    }


def _regions(view: View, recent: list[Slot]) -> list[dict[str, Any]]:
    names = {state.name: None for gauges in view.workers for state in gauges.regions}
    found = []
    for name in names:
        states = [state for gauges in view.workers for state in gauges.regions if state.name == name]
        durations: dict[int, int] = {}
        for slot in recent:
            for bucket, count in slot.duration.get(name, {}).items():
                durations[bucket] = durations.get(bucket, 0) + count
        saturations = [state.saturation for state in states if state.saturation is not None]
        waits = [state.waiting for state in states if state.waiting is not None]
        found.append(
            {
                "name": name,
                "healthy": all(state.healthy for state in states),
                "in_flight": sum(state.in_flight for state in states),
                "max_concurrency": states[0].max_concurrency,
                "saturation": max(saturations, default=None),
                "waiting": max(waits, default=None),
                "note": next((state.note for state in states if state.note), ""),
                "requests": sum(durations.values()),
                "errors": sum(slot.failed.get(name, 0) for slot in recent),
                **{f"{share}_ms": value for share, value in _percentiles(durations).items()},
            }
        )
    return found


def _models(cells: dict[Labels, Cell]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for at, cell in cells.items():
        row = found.setdefault(
            at.model, {"model": at.model, "requests": 0, "hits": 0, "tokens": 0, "usd": 0.0, "usd_saved": 0.0}
        )
        row["requests"] += cell.requests
        row["hits"] += cell.requests if at.cache == "hit" else 0
        row["tokens"] += cell.input_tokens + cell.output_tokens
        row["usd"] += cell.usd
        row["usd_saved"] += cell.usd_saved
    return sorted(found.values(), key=lambda row: -row["requests"])[:_MODELS]


def _tiers(view: View) -> list[dict[str, Any]]:
    """Add up the memory of all processes; the other tiers are one place that all of them see."""
    found: dict[str, dict[str, Any]] = {}
    for gauges in view.workers:
        for tier in gauges.tiers:
            row = found.setdefault(
                tier.name,
                {"name": tier.name, "entries": 0, "bytes": 0, "max_bytes": None, "evicted": 0, "failure": None},
            )
            own = tier.name == "memory"
            row["entries"] = row["entries"] + tier.entries if own else max(row["entries"], tier.entries)
            row["bytes"] = row["bytes"] + tier.size_bytes if own else max(row["bytes"], tier.size_bytes)
            row["evicted"] += tier.evicted
            if tier.max_size_bytes is not None:
                row["max_bytes"] = (row["max_bytes"] or 0) * own + tier.max_size_bytes
        for name, failure in gauges.failures.items():
            row = found.setdefault(
                name, {"name": name, "entries": None, "bytes": None, "max_bytes": None, "evicted": 0, "failure": None}
            )
            row["failure"] = failure
    return list(found.values())


def _summed(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for name, count in each.items():
            total[name] = total.get(name, 0) + count
    return total


def _percentiles(counts: dict[int, int]) -> dict[str, float | None]:
    return {name: quantile(counts, share) for name, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99))}
