"""What this process has at this moment, and what all processes of the host know together."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec

from edgeinf.serve.observe.cells import Cell, Labels, merge_cells
from edgeinf.serve.observe.history import Slot, merge_slots
from edgeinf.serve.observe.observer import Gauges, RegionState, Snapshot
from edgeinf.serve.observe.recent import Row, explain_rows

if TYPE_CHECKING:
    from edgeinf.serve.runtime import Runtime

__all__ = ["View", "gather", "local_snapshot"]

_decode = msgspec.msgpack.Decoder(Snapshot).decode
_encode = msgspec.msgpack.Encoder().encode


class View(msgspec.Struct, kw_only=True):
    """All processes of this host as one."""

    cells: dict[Labels, Cell]
    slots: list[Slot]
    rows: list[Row]
    workers: list[Gauges]


async def gather(runtime: Runtime, *, rows: bool = False, slots: bool = False) -> View:
    """Ask every process of this host and add up what they say; the rows come with their why."""
    own = await local_snapshot(runtime, rows=rows, slots=slots)
    others = [_decode(raw) for raw in await runtime.peers.snapshots(rows=rows, slots=slots)]
    return _view(sorted([own, *others], key=lambda s: (s.gauges.started_at, s.gauges.pid)))


async def local_snapshot(runtime: Runtime, *, rows: bool, slots: bool) -> Snapshot:
    """Return what this process knows."""
    return runtime.observer.snapshot(await _gauges(runtime), rows=rows, slots=slots)


def encoded(snapshot: Snapshot) -> bytes:
    """Return a snapshot as it travels between processes."""
    return _encode(snapshot)


def _view(snapshots: Iterable[Snapshot]) -> View:
    every = list(snapshots)
    return View(
        cells=merge_cells(s.cells for s in every),
        slots=merge_slots(s.slots for s in every),
        rows=explain_rows(row for s in every for row in s.rows),
        workers=[s.gauges for s in every],
    )


async def _gauges(runtime: Runtime) -> Gauges:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return Gauges(
        in_progress=runtime.in_progress(),
        flights=len(runtime.flights),
        memory_bytes=_resident(),
        open_files=_open_files(),
        tasks=len(asyncio.all_tasks()),
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        events_written=runtime.events.written,
        events_dropped=runtime.events.dropped,
        events_waiting=runtime.events.waiting,
        cache_writes_dropped=runtime.tiers.dropped,
        tiers=await runtime.tiers.stats(),
        failures=dict(runtime.tiers.failures),
        regions=_regions(runtime),
        limits=dict(runtime.rejections),
        notes=list(runtime.notices.values()),
    )


def _regions(runtime: Runtime) -> list[RegionState]:
    origins = runtime.generation.origins
    found = []
    for origin, report in zip(origins, runtime.regions.report(origins), strict=True):
        figures = runtime.regions.state(origin).figures
        limit = origin.max_concurrency
        fill = figures.fill if figures is not None else None
        found.append(
            RegionState(
                name=report.name,
                healthy=report.state == "closed",
                in_flight=report.in_flight,
                max_concurrency=limit,
                saturation=fill if fill is not None else None if limit is None else report.in_flight / limit,
                waiting=None if figures is None or figures.waiting is None else round(figures.waiting),
                note="" if report.state == "closed" else f"{report.error_ratio:.0%} of its calls failed",
            )
        )
    return found


def _resident() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:  # no /proc: the most that was ever resident, in bytes on macOS and KiB elsewhere
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _open_files() -> int:
    try:
        return len(os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd")) - 1
    except OSError:
        return 0
