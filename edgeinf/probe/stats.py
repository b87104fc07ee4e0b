"""From attempts to the figures of a target: cold and warm apart, failures counted and left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from edgeinf.core.stats import quantile, quantile_bounds, samples_needed
from edgeinf.probe.figures import COLD, LOAD, WARM, figures, token_gaps_ms
from edgeinf.probe.values import Attempt, Phase

__all__ = ["QUANTILES", "Figure", "Measured", "counting", "figure", "measure", "rounds_of", "values_of"]

QUANTILES = {"median": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One figure over many attempts. ``low`` and ``high`` bound the median; None where n is too small."""

    n: int
    median: float | None
    min: float | None
    max: float | None
    p90: float | None
    p95: float | None
    p99: float | None
    low: float | None
    high: float | None


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one target."""

    name: str
    attempts: int
    ok: int
    errors: dict[str, int]
    cold: dict[str, Figure]
    warm: dict[str, Figure]
    idle: dict[str, Figure] | None
    load: dict[str, Figure] | None
    details: dict[str, str]  # the last words of each error class


def figure(values: Sequence[float]) -> Figure:
    """Summarise values; a quantile that these samples cannot bound is None."""
    n = len(values)
    shown = {name: round(quantile(values, p), 4) if n >= samples_needed(p) else None for name, p in QUANTILES.items()}
    bounds = quantile_bounds(values, 0.5) if n else None
    return Figure(
        n=n,
        min=round(min(values), 4) if n else None,
        max=round(max(values), 4) if n else None,
        low=round(bounds.low, 4) if bounds and bounds.low is not None else None,
        high=round(bounds.high, 4) if bounds and bounds.high is not None else None,
        **shown,
    )


def values_of(attempts: Iterable[Attempt], name: str, phase: Phase | None = None) -> list[float]:
    """Return a figure's values over successful attempts of a phase."""
    found: list[float] = []
    for attempt in attempts:
        if not attempt.ok or (phase is not None and attempt.phase != phase):
            continue
        if name == "icl_ms":
            found += token_gaps_ms(attempt)
        elif (value := figures(attempt).get(name)) is not None:
            found.append(value)
    return found


def rounds_of(attempts: Iterable[Attempt], name: str, phase: Phase, rounds: int) -> list[float | None]:
    """Return a figure's value per round, None where the round has none: what a paired comparison needs."""
    out: list[float | None] = [None] * rounds
    for attempt in attempts:
        if attempt.ok and attempt.phase == phase and 0 <= attempt.round < rounds:
            out[attempt.round] = figures(attempt).get(name)
    return out


def counting(attempts: Sequence[Attempt]) -> list[Attempt]:
    """Return the attempts of one target that count: of the checks beforehand only a failure of the last.

    An earlier check only found out how the target wants to be asked.
    """
    last = next((a for a in reversed(attempts) if a.phase == "preflight"), None)
    return [a for a in attempts if a.phase != "preflight" or (a is last and not a.ok)]


def measure(name: str, attempts: Sequence[Attempt]) -> Measured:
    """Summarise the attempts of one target."""
    counted = counting(attempts)
    errors = Counter(a.error for a in counted if a.error is not None)
    closed = [a for a in counted if not a.open_loop]
    opened = [a for a in counted if a.open_loop]
    idle = [a for a in closed if a.phase == "idle"]
    return Measured(
        name=name,
        attempts=len(counted),
        ok=sum(a.ok for a in counted),
        errors=dict(sorted(errors.items())),
        cold={f: figure(values_of(closed, f, "cold")) for f in COLD},
        warm={f: figure(values_of(closed or opened, f, "warm")) for f in WARM},
        idle={f: figure(values_of(idle, f)) for f in COLD} if idle else None,
        load={f: figure(values_of(opened, f)) for f in LOAD} if opened else None,
        details={a.error: a.detail or "" for a in counted if a.error is not None},
    )
