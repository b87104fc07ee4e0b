"""Before and after: latency, load at the origin, cost of a month, an agent's loop; and the identity behind it.

With a hit rate h and hits faster than any miss, the median after is the misses' quantile (0.5 - h) / (1 - h), so a
cache alone rarely halves a median. What the log does not say is an assumption, and every assumption is listed.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from edgeinf.analyze.levels import LevelRun
from edgeinf.analyze.log import Log
from edgeinf.analyze.options import Options
from edgeinf.core.errors import UsageError
from edgeinf.core.stdin import read_whole

__all__ = ["HIT_MS", "AgentLoop", "Probe", "Side", "WhatIf", "read_probe", "whatif"]

HIT_MS = 15.0
_MISS_ADDS_MS = 1.0
_PER_REPLICA = 16
_MONTH_S = 30 * 86400.0
_LEAST_SPAN_S = 3600.0
_AGENT_STEPS = 15


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What a probe file says: where calls go now, the best region, what each takes to the first byte, warm."""

    current: str
    current_ms: float
    best: str
    best_ms: float


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One side of the comparison; None where the log does not say."""

    p50_ms: float | None
    p95_ms: float | None
    mean_ms: float | None
    origin_requests: int
    peak_concurrency: int | None
    replicas: int | None
    usd_month: float | None


class AgentLoop(msgspec.Struct, frozen=True, kw_only=True):
    """A loop of calls that wait for each other, of the sessions' typical length."""

    sessions: int | None
    steps: int
    steps_from: str
    before_ms: float | None
    after_ms: float | None
    network_ms: float | None
    network_share: float | None


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """The comparison, with what was taken for granted."""

    before: Side
    after: Side
    agent_loop: AgentLoop
    identity: str | None
    break_even_hit_rate: float | None
    assumptions: list[str]


def read_probe(path: str) -> Probe:
    """Read what is needed of ``edgeinf probe --save``'s file. Raise UsageError."""
    try:
        document = msgspec.json.decode(read_whole(path))
    except msgspec.DecodeError:
        raise UsageError(f"{path} is not JSON", hint="write it with: edgeinf probe --json > probe.json") from None
    known: dict[str, float] = {}
    targets = document.get("targets") if isinstance(document, dict) else None
    for target in targets if isinstance(targets, list) else ():
        warm = target.get("warm") if isinstance(target, dict) else None
        figure = warm.get("ttfb_ms") if isinstance(warm, dict) else None
        median = figure.get("median") if isinstance(figure, dict) else None
        if isinstance(median, int | float):
            known[str(target.get("name"))] = float(median)
    if not known:
        raise UsageError(f"{path} has no warm first byte of any target", hint="edgeinf probe --json > probe.json")
    advice = document.get("recommendation")
    recommended = advice.get("region") if isinstance(advice, dict) else None
    best = recommended if recommended in known else min(known, key=lambda name: known[name])
    current = next(iter(known))
    return Probe(current=current, current_ms=known[current], best=best, best_ms=known[best])


def whatif(log: Log, run: LevelRun, options: Options, probe: Probe | None = None) -> WhatIf:
    """Work out both sides for the level that the proxy would use."""
    assumptions = [f"a hit takes {HIT_MS:g} ms at the client", f"the layer adds {_MISS_ADDS_MS:g} ms to a miss"]
    spared = run.hit | run.coalesced
    nearer_ms = 0.0
    if probe is not None and probe.current_ms > probe.best_ms:
        nearer_ms = probe.current_ms - probe.best_ms
        assumptions.append(
            f"calls go to {probe.current} now and to {probe.best} then: {nearer_ms:.0f} ms less to the first byte"
        )
    peaks = _peak(log, None), _peak(log, spared)  # before the latencies are there, which are large too
    before_ms, after_ms = _latencies(log, run, nearer_ms)
    monthly = _monthly(log, options, assumptions)
    usd_before, usd_after = _usd(log, spared, monthly)
    assumptions.append(f"a replica of the origin runs {_PER_REPLICA} requests at once")
    before = _side(before_ms, log.rows, peaks[0], usd_before)
    after = _side(after_ms, log.rows - int(spared.sum()), peaks[1], usd_after)
    return WhatIf(
        before=before,
        after=after,
        agent_loop=_agent(log, before, after, probe),
        identity=_identity(log, run, after_ms),
        break_even_hit_rate=_break_even(before.mean_ms),
        assumptions=assumptions,
    )


def _latencies(log: Log, run: LevelRun, nearer_ms: float) -> tuple[Any, Any]:
    if log.latency is None:
        return None, None
    known = ~np.isnan(log.latency)
    before = log.latency[known].astype(np.float64)
    missed = np.maximum(before - nearer_ms, HIT_MS) + _MISS_ADDS_MS
    # What is coalesced waits for the answer under way: half of it, on average.
    waited = np.where(run.coalesced[known], before / 2, missed)
    return before, np.where(run.hit[known], HIT_MS, waited)


def _side(ms: Any, requests: int, peak: int | None, usd: float | None) -> Side:
    has = ms is not None and len(ms) > 0
    return Side(
        p50_ms=_quantile(ms, 0.5) if has else None,
        p95_ms=_quantile(ms, 0.95) if has else None,
        mean_ms=float(ms.mean()) if has else None,
        origin_requests=requests,
        peak_concurrency=peak,
        replicas=None if peak is None else math.ceil(peak / _PER_REPLICA),
        usd_month=usd,
    )


def _quantile(values: npt.NDArray[np.float64], p: float) -> float:
    """Return the nearest-rank quantile."""
    rank = max(1, math.ceil(p * len(values) - 1e-9)) - 1
    return float(np.partition(values, rank)[rank])


def _peak(log: Log, spared: Any) -> int | None:
    """Return how many requests were at the origin at once, at most."""
    if log.at is None or log.latency is None:
        return None
    there = ~np.isnan(log.latency) if spared is None else ~np.isnan(log.latency) & ~spared
    starts = log.at[there]
    if not len(starts):
        return 0
    ends = np.sort(starts + log.latency[there] / 1000.0)
    # At each start: those started so far less those that have ended by then.
    running = np.arange(1, len(starts) + 1) - np.searchsorted(ends, starts, side="right")
    return int(running.max())


def _monthly(log: Log, options: Options, assumptions: list[str]) -> float | None:
    if options.requests_per_month is not None:
        assumptions.append(f"{options.requests_per_month:,.0f} requests a month, as given")
        return options.requests_per_month
    if log.at is None or log.at[-1] - log.at[0] < _LEAST_SPAN_S:
        return None
    monthly = log.rows / float(log.at[-1] - log.at[0]) * _MONTH_S
    assumptions.append(f"{monthly:,.0f} requests in 30 days, at the log's own pace")
    return monthly


def _usd(log: Log, spared: Any, monthly: float | None) -> tuple[float | None, float | None]:
    if log.usd is None or monthly is None:
        return None, None
    known = ~np.isnan(log.usd)
    if not known.any():
        return None, None
    per_request = float(log.usd[known].mean(dtype=np.float64))
    kept = float(np.where(spared, 0, log.usd)[known].mean(dtype=np.float64))
    return per_request * monthly, kept * monthly


def _agent(log: Log, before: Side, after: Side, probe: Probe | None) -> AgentLoop:
    sessions, steps, source = None, _AGENT_STEPS, "no sessions in the log: a loop of this length is taken"
    if log.session is not None:
        _, lengths = np.unique(log.session[log.session != 0], return_counts=True)
        sessions = len(lengths)
        steps = max(1, int(np.sort(lengths)[len(lengths) // 2])) if sessions else steps
        source = "the median session of the log" if sessions else source
    network = None if probe is None else steps * (probe.current_ms - probe.best_ms)
    whole = None if before.mean_ms is None else steps * before.mean_ms
    return AgentLoop(
        sessions=sessions,
        steps=steps,
        steps_from=source,
        before_ms=whole,
        after_ms=None if after.mean_ms is None else steps * after.mean_ms,
        network_ms=network,
        network_share=None if network is None or not whole else network / whole,
    )


def _identity(log: Log, run: LevelRun, after_ms: Any) -> str | None:
    """Write the identity of the median with the log's own numbers; misses are as they are after, with what waits."""
    if log.latency is None:
        return None
    known = ~np.isnan(log.latency)
    if not known.any():
        return None
    h = float(run.hit[known].mean())
    missed = after_ms[~run.hit[known]]
    if h >= 0.5 or not len(missed):
        return f"h = {h:.3f} of requests hit; from 0.5 on the median is a hit's {HIT_MS:g} ms"
    q = (0.5 - h) / (1 - h)
    value = _quantile(missed, q)
    return (
        f"with h = {h:.3f}, the median after is the misses' quantile (0.5 - {h:.3f}) / (1 - {h:.3f}) = {q:.3f}: "
        f"{value:.0f} ms; h = 0.5 would be needed for {HIT_MS:g} ms"
    )


def _break_even(mean_ms: float | None) -> float | None:
    """Return the hit rate at which what hits save in time pays for what the layer adds to misses."""
    if mean_ms is None or mean_ms <= HIT_MS:
        return None
    return _MISS_ADDS_MS / (_MISS_ADDS_MS + mean_ms - HIT_MS)
