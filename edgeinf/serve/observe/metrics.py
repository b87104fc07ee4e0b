"""What ``/metrics`` says: every name in one table, rendered in the Prometheus text format (version 0.0.4).

Figures are sums over the processes of this host; gauges of one process carry its number as ``worker``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from edgeinf import __version__
from edgeinf.serve.observe.cells import DURATIONS_S, OVERHEADS_S, RATES, Cell, Histogram, Labels
from edgeinf.serve.observe.observer import Gauges

__all__ = ["CONTENT_TYPE", "FAMILIES", "Family", "render"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Family(msgspec.Struct, frozen=True):
    """One metric: its kind, its labels, and what it means."""

    kind: str  # counter, gauge, histogram
    labels: tuple[str, ...]
    help: str


_BY = ("dialect", "model", "region")

FAMILIES: dict[str, Family] = {
    "edgeinf_build_info": Family("gauge", ("version",), "Always 1; the version that runs."),
    "edgeinf_requests_total": Family(
        "counter", (*_BY, "cache", "tier", "status"), "Finished requests by what the cache did: hit, miss, bypass, "
        "stale, collapsed."
    ),
    "edgeinf_errors_total": Family("counter", ("region", "error"), "Requests that ended in an error, by its name."),
    "edgeinf_request_duration_seconds": Family(
        "histogram", ("dialect", "region", "cache", "place"), "From the request's head to the last byte handed over."
    ),
    "edgeinf_time_to_first_token_seconds": Family(
        "histogram", ("dialect", "region", "cache", "place"), "From the request's head to the first token."
    ),
    "edgeinf_output_tokens_per_second": Family(
        "histogram", ("model", "region", "place"), "Tokens after the first per second, of streams from an origin."
    ),
    "edgeinf_overhead_seconds": Family(
        "histogram", ("cache",), "Time spent here: all but waiting for an origin, nothing else left out."
    ),
    "edgeinf_attempts_total": Family("counter", ("region",), "Tries at origins."),
    "edgeinf_tokens_total": Family(
        "counter", ("model", "region", "kind", "source"), "Tokens: input, output, cached (by the origin), cache_write; "
        "source cache are those that no origin had to process."
    ),
    "edgeinf_usd_total": Family("counter", ("model", "region"), "Money that answers from origins cost, where known."),
    "edgeinf_usd_saved_total": Family("counter", ("model",), "Money that hits did not cost."),
    "edgeinf_seconds_saved_total": Family("counter", ("model",), "Time that hits did not take."),
    "edgeinf_answers_stored_total": Family("counter", ("model",), "Answers put into the cache."),
    "edgeinf_tier_entries": Family("gauge", ("tier", "worker"), "Entries a cache tier holds."),
    "edgeinf_tier_bytes": Family("gauge", ("tier", "worker"), "Bytes a cache tier holds."),
    "edgeinf_tier_limit_bytes": Family("gauge", ("tier", "worker"), "Bytes a cache tier may hold."),
    "edgeinf_tier_evictions_total": Family("counter", ("tier", "worker"), "Entries a tier let go to make room."),
    "edgeinf_tier_up": Family("gauge", ("tier", "worker"), "0 while a tier has failed and is left out."),
    "edgeinf_cache_writes_dropped_total": Family("counter", ("worker",), "Entries that a tier did not take."),
    "edgeinf_limit_rejections_total": Family("counter", ("limit",), "Requests answered 429, by the limit's name."),
    "edgeinf_region_up": Family("gauge", ("region", "worker"), "1 while calls are sent to a region."),
    "edgeinf_region_in_flight": Family("gauge", ("region", "worker"), "Calls under way at a region."),
    "edgeinf_region_saturation": Family("gauge", ("region", "worker"), "Share of a region's capacity in use."),
    "edgeinf_requests_in_progress": Family("gauge", ("worker",), "Requests under way."),
    "edgeinf_flights": Family("gauge", ("worker",), "Answers on their way that equal requests share."),
    "edgeinf_events_written_total": Family("counter", ("worker",), "Events written."),
    "edgeinf_events_dropped_total": Family("counter", ("worker",), "Events lost because too many waited."),
    "edgeinf_events_waiting": Family("gauge", ("worker",), "Events that wait to be written."),
    "edgeinf_worker_start_time_seconds": Family("gauge", ("worker",), "When the process began, since the epoch."),
    "edgeinf_worker_memory_bytes": Family("gauge", ("worker",), "Resident memory."),
    "edgeinf_worker_open_files": Family("gauge", ("worker",), "Open file descriptors."),
    "edgeinf_worker_tasks": Family("gauge", ("worker",), "Tasks of the event loop."),
    "edgeinf_worker_cpu_seconds_total": Family("counter", ("worker",), "Processor time used."),
}  # fmt: skip

_BOUNDS = {
    "edgeinf_request_duration_seconds": DURATIONS_S,
    "edgeinf_time_to_first_token_seconds": DURATIONS_S,
    "edgeinf_output_tokens_per_second": RATES,
    "edgeinf_overhead_seconds": OVERHEADS_S,
}

_Sample = tuple[str, tuple[str, ...], float | Histogram]


def render(cells: dict[Labels, Cell], workers: Sequence[Gauges]) -> bytes:
    """Return the whole page."""
    summed: dict[str, dict[tuple[str, ...], float | Histogram]] = {name: {} for name in FAMILIES}
    for name, labels, value in (*_from_cells(cells), *_from_gauges(workers)):
        family = summed[name]
        if isinstance(value, Histogram):
            held = family.get(labels)
            if isinstance(held, Histogram):
                held.merge(value)
            else:
                family[labels] = Histogram(list(value.counts), value.sum)
        else:
            before = family.get(labels, 0.0)
            assert not isinstance(before, Histogram)
            family[labels] = before + value
    return "".join(line for name in FAMILIES for line in _lines(name, summed[name])).encode()


def _from_cells(cells: dict[Labels, Cell]) -> Iterator[_Sample]:
    for at, cell in cells.items():
        what = (at.dialect, at.region, at.cache, at.place)
        source = "cache" if at.cache in ("hit", "collapsed", "stale") else "origin"
        outcome = (at.dialect, at.model, at.region, at.cache, at.tier, at.status)
        yield "edgeinf_requests_total", outcome, cell.requests
        if at.error:
            yield "edgeinf_errors_total", (at.region, at.error), cell.requests
        yield "edgeinf_request_duration_seconds", what, cell.duration
        if any(cell.ttft.counts):
            yield "edgeinf_time_to_first_token_seconds", what, cell.ttft
        if any(cell.rate.counts):
            yield "edgeinf_output_tokens_per_second", (at.model, at.region, at.place), cell.rate
        yield "edgeinf_overhead_seconds", (at.cache,), cell.overhead
        if at.region and cell.attempts:
            yield "edgeinf_attempts_total", (at.region,), cell.attempts
        kinds = ("input", "output", "cached", "cache_write")
        counts = (cell.input_tokens, cell.output_tokens, cell.cached_tokens, cell.cache_write_tokens)
        for kind, count in zip(kinds, counts, strict=True):
            if count:
                yield "edgeinf_tokens_total", (at.model, at.region, kind, source), count
        if cell.usd:
            yield "edgeinf_usd_total", (at.model, at.region), cell.usd
        if at.cache == "hit":
            yield "edgeinf_usd_saved_total", (at.model,), cell.usd_saved
            yield "edgeinf_seconds_saved_total", (at.model,), cell.seconds_saved
        if cell.stored and at.cache == "miss":
            yield "edgeinf_answers_stored_total", (at.model,), cell.stored


def _from_gauges(workers: Sequence[Gauges]) -> Iterator[_Sample]:
    yield "edgeinf_build_info", (__version__,), 1
    for number, gauges in enumerate(workers):
        worker = str(number)
        for name, value in (
            ("edgeinf_requests_in_progress", gauges.in_progress),
            ("edgeinf_flights", gauges.flights),
            ("edgeinf_events_written_total", gauges.events_written),
            ("edgeinf_events_dropped_total", gauges.events_dropped),
            ("edgeinf_events_waiting", gauges.events_waiting),
            ("edgeinf_worker_start_time_seconds", gauges.started_at),
            ("edgeinf_worker_memory_bytes", gauges.memory_bytes),
            ("edgeinf_worker_open_files", gauges.open_files),
            ("edgeinf_worker_tasks", gauges.tasks),
            ("edgeinf_worker_cpu_seconds_total", gauges.cpu_seconds),
            ("edgeinf_cache_writes_dropped_total", gauges.cache_writes_dropped),
        ):
            yield name, (worker,), value
        for tier in gauges.tiers:
            at = (tier.name, worker)
            yield "edgeinf_tier_entries", at, tier.entries
            yield "edgeinf_tier_bytes", at, tier.size_bytes
            yield "edgeinf_tier_evictions_total", at, tier.evicted
            yield "edgeinf_tier_up", at, 1
            if tier.max_size_bytes is not None:
                yield "edgeinf_tier_limit_bytes", at, tier.max_size_bytes
        for name in gauges.failures:
            if name not in {tier.name for tier in gauges.tiers}:
                yield "edgeinf_tier_up", (name, worker), 0
        for region in gauges.regions:
            at = (region.name, worker)
            yield "edgeinf_region_up", at, int(region.healthy)
            yield "edgeinf_region_in_flight", at, region.in_flight
            if region.saturation is not None:
                yield "edgeinf_region_saturation", at, region.saturation
        for limit, count in gauges.limits.items():
            yield "edgeinf_limit_rejections_total", (limit,), count


def _lines(name: str, samples: dict[tuple[str, ...], float | Histogram]) -> Iterator[str]:
    if not samples:
        return
    family = FAMILIES[name]
    yield f"# HELP {name} {family.help}\n# TYPE {name} {family.kind}\n"
    for values, value in sorted(samples.items(), key=lambda item: item[0]):
        pairs = [f'{label}="{_escaped(text)}"' for label, text in zip(family.labels, values, strict=True)]
        if isinstance(value, Histogram):
            yield from _histogram(name, pairs, value)
        else:
            yield f"{name}{_braced(pairs)} {_number(value)}\n"


def _histogram(name: str, pairs: list[str], value: Histogram) -> Iterator[str]:
    total = 0
    for bound, count in zip((*_BOUNDS[name], float("inf")), value.counts, strict=True):
        total += count
        le = "+Inf" if bound == float("inf") else _number(bound)
        within = _braced([*pairs, f'le="{le}"'])
        yield f"{name}_bucket{within} {total}\n"
    yield f"{name}_sum{_braced(pairs)} {_number(value.sum)}\n{name}_count{_braced(pairs)} {total}\n"


def _braced(pairs: Iterable[str]) -> str:
    inner = ",".join(pairs)
    return f"{{{inner}}}" if inner else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))
