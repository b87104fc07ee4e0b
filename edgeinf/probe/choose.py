"""Which target is best, and which cannot be told from it."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import msgspec

from edgeinf.core.stats import Difference, bootstrap_difference, holm, proportion_bounds, quantile, samples_needed
from edgeinf.probe.stats import counting, rounds_of, values_of
from edgeinf.probe.values import Attempt, Phase

__all__ = ["AgentLoop", "Ranked", "Recommendation", "agent_loop", "rank", "recommend"]

_ALPHA = 0.05
_HEALTHY = 0.99
_REPLICATES, _MOST_REPLICATES = 2000, 20_000


class Ranked(msgspec.Struct, frozen=True, kw_only=True):
    """One place in the ranking. ``slower_by`` is against the best, with its 95 % interval; p is adjusted (Holm).

    With too few samples for a median the order is that of the middle values seen, and means little.
    """

    name: str
    figure: str
    n: int
    median: float | None
    healthy: bool
    slower_by: float | None = None
    slower_low: float | None = None
    slower_high: float | None = None
    p: float | None = None


class Recommendation(msgspec.Struct, frozen=True, kw_only=True):
    """What to use, why, and what is as good as far as this run can tell."""

    region: str | None
    reason: str
    indistinguishable: list[str]


class AgentLoop(msgspec.Struct, frozen=True, kw_only=True):
    """What the network costs over so many calls in sequence, each waiting for the one before."""

    steps: int
    network_ms: float | None
    region: str | None
    per_target: dict[str, float | None]
    new_connection_each_ms: dict[str, float | None]


def rank(attempts: Mapping[str, Sequence[Attempt]], figure: str, phase: Phase, rounds: int, seed: int) -> list[Ranked]:
    """Order targets by the median of ``figure``; those that surely fail more than one call in a hundred come last."""
    seen: dict[str, list[float]] = {}
    medians: dict[str, float | None] = {}
    healthy: dict[str, bool] = {}
    for name, made in attempts.items():
        values = seen[name] = values_of(made, figure, phase)
        medians[name] = quantile(values, 0.5) if values else None
        counted = counting(made)
        high = proportion_bounds(sum(a.ok for a in counted), len(counted)).high
        healthy[name] = high is not None and high >= _HEALTHY

    def order(name: str) -> tuple[bool, bool, float]:
        median = medians[name]
        return median is None, not healthy[name], median or 0.0

    names = sorted(attempts, key=order)
    differences = _against_best(names, medians, attempts, figure, phase, rounds, seed)
    family = sum(m is not None for m in medians.values())
    held = [(name, d) for name, d in differences.items() if d is not None]
    adjusted = dict(
        zip(
            (name for name, _ in held),
            holm([d.p for _, d in held], family=family * (family - 1) // 2),
            strict=True,
        )
    )
    out = []
    for name in names:
        found = differences.get(name)
        out.append(
            Ranked(
                name=name,
                figure=figure,
                n=len(seen[name]),
                median=medians[name] if len(seen[name]) >= samples_needed(0.5) else None,
                healthy=healthy[name],
                slower_by=found.value if found else None,
                slower_low=found.low if found else None,
                slower_high=found.high if found else None,
                p=adjusted.get(name),
            )
        )
    return out


def _against_best(
    names: Sequence[str],
    medians: Mapping[str, float | None],
    attempts: Mapping[str, Sequence[Attempt]],
    figure: str,
    phase: Phase,
    rounds: int,
    seed: int,
) -> dict[str, Difference | None]:
    others = [name for name in names[1:] if medians[name] is not None]
    if not others:
        return {}
    pairs = (len(others) + 1) * len(others) // 2
    replicates = min(_MOST_REPLICATES, max(_REPLICATES, 80 * pairs))  # enough for the smallest p to count
    best = rounds_of(attempts[names[0]], figure, phase, rounds)
    return {
        name: bootstrap_difference(
            best,
            rounds_of(attempts[name], figure, phase, rounds),
            random.Random(f"{seed}/{name}"),
            replicates=replicates,
        )
        for name in others
    }


def recommend(ranking: Sequence[Ranked]) -> Recommendation:
    """Say which target to use. Where the interval of a difference holds 0, the two are called indistinguishable."""
    if not ranking or not ranking[0].n:
        return Recommendation(region=None, reason="no target answered", indistinguishable=[])
    best, rest = ranking[0], [r for r in ranking[1:] if r.n]
    if best.median is None:
        reason = f"lowest {best.figure} seen, but {samples_needed(0.5)} rounds are needed to tell anything"
        return Recommendation(region=best.name, reason=reason, indistinguishable=[r.name for r in rest])
    alike = [r.name for r in rest if r.healthy == best.healthy and (r.p is None or r.p >= _ALPHA)]
    lead = f"lowest median {best.figure} ({best.median:.4g})"
    if not best.healthy:
        lead += "; it fails too often, as all others do"
    if not rest:
        reason = f"{lead}; there is nothing to compare it with"
    elif alike:
        reason = f"{lead}, but indistinguishable from {', '.join(alike)} in this run"
    else:
        near = min((r for r in rest if r.slower_by is not None), key=lambda r: r.slower_by or 0.0, default=None)
        by = f", {near.slower_by:.4g} under {near.name}" if near is not None else ""
        reason = f"{lead}{by}, told apart at a family-wise 5 %"
    return Recommendation(region=best.name, reason=reason, indistinguishable=alike)


def agent_loop(steps: int, attempts: Mapping[str, Sequence[Attempt]], region: str | None) -> AgentLoop:
    """Return the network's share of ``steps`` calls: one round trip each on a kept connection.

    A round trip is the TCP handshake's median. With a new connection each time, all of ``connect_ms`` is paid too.
    """
    trips = {name: _middle(values_of(made, "tcp_ms")) for name, made in attempts.items()}
    connects = {name: _middle(values_of(made, "connect_ms")) for name, made in attempts.items()}
    kept = {name: None if trip is None else round(steps * trip, 3) for name, trip in trips.items()}
    fresh = {
        name: None if trip is None else round(steps * (trip + (connects[name] or trip)), 3)
        for name, trip in trips.items()
    }
    return AgentLoop(
        steps=steps,
        network_ms=kept.get(region) if region else None,
        region=region,
        per_target=kept,
        new_connection_each_ms=fresh,
    )


def _middle(values: Sequence[float]) -> float | None:
    return quantile(values, 0.5) if values else None
