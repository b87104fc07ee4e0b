"""The result as a tree of tables and charts, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterable

from edgeinf.core.report.cells import format_number
from edgeinf.core.report.tree import Axis, Cell, Chart, Column, Part, Point, Section, Series, Table, Text
from edgeinf.probe.figures import COLD, DEFINITIONS, WARM, figures
from edgeinf.probe.gate import Gate
from edgeinf.probe.outcome import Outcome, phase_of
from edgeinf.probe.stats import Figure, Measured

__all__ = ["explain", "report"]

_TONES = {"pass": "good", "fail": "bad", "inconclusive": "warning"}
_QUANTILES = ("p90", "p95", "p99")
_DRAWN = 8  # targets whose rounds are drawn: more lines than colours say nothing


def report(outcome: Outcome, *, full: bool = False, definitions: bool = False) -> Section:
    """Return the whole report: advice first, then figures, then what went wrong. ``full`` is for a page."""
    parts: list[Part] = [_advice(outcome)]
    parts += [_gates(outcome.gates)] if outcome.gates else []
    parts += [_main(outcome), *_spread(outcome), *(_full(outcome) if full else _compact(outcome))]
    parts += [_load(outcome)] if outcome.loads else []
    parts += [_idle(outcome)] if any(m.idle for m in outcome.measured.values()) else []
    parts += [_errors(outcome)] if any(m.errors for m in outcome.measured.values()) else []
    parts += [_agent(outcome)] if outcome.agent_loop.network_ms is not None else []
    parts += [Text(text=note, tone="warning") for note in outcome.notes]
    parts += [Text(text=f"stopped early: {outcome.stopped}", tone="warning")] if outcome.stopped else []
    parts.append(_how(outcome))
    parts += [explain()] if definitions else []
    return Section(title="edgeinf probe", parts=tuple(parts))


def explain() -> Section:
    """Return every formula."""
    rows = tuple(DEFINITIONS.items())
    return Section(
        title="definitions", parts=(Table(columns=(Column(title="figure"), Column(title="formula")), rows=rows),)
    )


def _advice(outcome: Outcome) -> Text:
    advice = outcome.recommendation
    if advice.region is None:
        return Text(text=f"no recommendation: {advice.reason}", tone="bad")
    return Text(text=f"{advice.region}: {advice.reason}", tone="plain" if advice.indistinguishable else "good")


def _gates(gates: list[Gate]) -> Section:
    columns = tuple(Column(title=t) for t in ("gate", "target", "outcome", "value", "low", "high", "n", "needs"))
    rows = tuple((g.slo, g.target, g.outcome, g.value, g.low, g.high, g.n, g.needed) for g in gates)
    worst = next((o for o in ("fail", "inconclusive") if any(g.outcome == o for g in gates)), "pass")
    said = {
        "pass": "all gates pass",
        "fail": "a gate failed",
        "inconclusive": "a gate is inconclusive: its bounds enclose the limit, or there are too few samples",
    }
    tone = _TONES[worst]
    verdict = Text(text=said[worst], tone=tone)  # type: ignore[arg-type]  # from the table above
    return Section(title="gates", parts=(verdict, Table(columns=columns, rows=rows)))


def _shown(measured: Measured, phase: str) -> dict[str, Figure]:
    return measured.cold if phase == "cold" else (measured.idle or {}) if phase == "idle" else measured.warm


def _main(outcome: Outcome) -> Section:
    phase = phase_of(outcome.plan)
    head = outcome.ranking[0].figure if outcome.ranking else "ttft_ms"
    quantiles = [
        q
        for q in _QUANTILES
        if any(getattr(_shown(m, phase)[head], q) is not None for m in outcome.measured.values() if _shown(m, phase))
    ]
    columns = [
        Column(title="target"),
        Column(title="n"),
        Column(title="median", unit="ms"),
        Column(title="95 % bounds", unit="ms"),
        Column(title="min", unit="ms"),
        Column(title="max", unit="ms"),
        *(Column(title=q, unit="ms") for q in quantiles),
        Column(title="loss", unit="%"),
        Column(title="slower by", unit="ms"),
    ]
    rows: list[tuple[Cell, ...]] = []
    for ranked in outcome.ranking:
        measured = outcome.measured[ranked.name]
        found = _shown(measured, phase).get(head)
        if found is None:
            continue
        loss = 1 - measured.ok / measured.attempts if measured.attempts else None
        slower = (
            None
            if ranked.slower_by is None
            else f"{ranked.slower_by:.1f} ({ranked.slower_low:.1f} to {ranked.slower_high:.1f})"
        )
        rows.append(
            (
                ranked.name,
                found.n,
                found.median,
                _bounds(found),
                found.min,
                found.max,
                *(getattr(found, q) for q in quantiles),
                loss,
                slower,
            )
        )
    caption = "a quantile without a one-sided 95 % bound is not shown; failures are counted and never in a latency"
    return Section(
        title=f"{head}, {phase} connections",
        parts=(Table(columns=tuple(columns), rows=tuple(rows), caption=caption),),
    )


def _bounds(found: Figure) -> str | None:
    if found.low is None or found.high is None:
        return None
    return f"{format_number(found.low)} to {format_number(found.high)}"


def _spread(outcome: Outcome) -> Iterable[Part]:
    """Show medians against each other where there is more than one, and every round in its place."""
    phase = phase_of(outcome.plan)
    head = outcome.ranking[0].figure if outcome.ranking else "ttft_ms"
    points = []
    for ranked in outcome.ranking:
        found = _shown(outcome.measured[ranked.name], phase).get(head)
        if found is not None and found.median is not None:
            points.append(Point(x=ranked.name, y=found.median, low=found.low, high=found.high))
    if len(points) > 1:
        yield Chart(
            title=f"median {head} with one-sided 95 % bounds",
            kind="intervals",
            y=Axis(title=head, unit="ms"),
            series=(Series(name=phase, points=tuple(points)),),
        )
    rounds = tuple(
        Series(name=ranked.name, points=_per_round(outcome, ranked.name, head)) for ranked in outcome.ranking[:_DRAWN]
    )
    if any(len(series.points) > 1 for series in rounds):
        yield Chart(
            title=f"{head} by round",
            kind="line",
            series=rounds,
            x=Axis(title="round"),
            y=Axis(title=head, unit="ms"),
        )


def _per_round(outcome: Outcome, name: str, figure: str) -> tuple[Point, ...]:
    phase = phase_of(outcome.plan)
    made = [a for a in outcome.attempts[name] if a.phase == phase]
    return tuple(Point(x=a.round, y=figures(a).get(figure) if a.ok else None) for a in made)


def _compact(outcome: Outcome) -> Iterable[Part]:
    """Show one row per target: medians, and the spread where there are too few samples for one."""
    for title, pick, names in (("cold connections", "cold", COLD), ("warm connections", "warm", WARM)):
        shown = {name: (m.cold if pick == "cold" else m.warm) for name, m in outcome.measured.items()}
        used = [figure for figure in names if any(found[figure].n for found in shown.values())]
        rows: list[tuple[Cell, ...]] = [
            (name, max(f.n for key, f in found.items() if key != "icl_ms"), *(_brief(found[figure]) for figure in used))
            for name, found in shown.items()
            if any(f.n for f in found.values())
        ]
        if rows:
            columns = (Column(title="target"), Column(title="n"), *(Column(title=figure) for figure in used))
            note = "medians; min–max where there are too few samples"
            yield Section(title=title, parts=(Table(columns=columns, rows=tuple(rows), caption=note),))


def _brief(found: Figure) -> Cell:
    if found.median is not None or found.min is None or found.max is None:
        return found.median
    return f"{format_number(found.min)}–{format_number(found.max)}"


def _full(outcome: Outcome) -> Iterable[Part]:
    """Show one row per target and figure, with bounds."""
    columns = tuple(
        Column(title=c) for c in ("target", "figure", "n", "median", "95 % bounds", "min", "max", *_QUANTILES)
    )
    for title, pick in (("cold connections", "cold"), ("warm connections", "warm")):
        rows: list[tuple[Cell, ...]] = []
        for name, measured in outcome.measured.items():
            shown = measured.cold if pick == "cold" else measured.warm
            rows += [
                (name, figure, f.n, f.median, _bounds(f), f.min, f.max, f.p90, f.p95, f.p99)
                for figure, f in shown.items()
                if f.n > 0
            ]
        if rows:
            yield Section(title=title, parts=(Table(columns=columns, rows=tuple(rows)),))


def _load(outcome: Outcome) -> Section:
    columns = (
        *(Column(title=t) for t in ("target", "rate", "scheduled", "sent", "dropped", "connections opened")),
        Column(title="late, p99", unit="ms"),
        Column(title="client-bound"),
    )
    rows = tuple(
        (x.target, x.rate, x.scheduled, x.sent, x.dropped, x.connections_opened, x.lag_ms_p99, x.client_bound)
        for x in outcome.loads
    )
    figures: list[tuple[Cell, ...]] = []
    for name, measured in outcome.measured.items():
        for figure, f in (measured.load or {}).items():
            if f.n:
                figures.append((name, figure, f.n, f.median, f.p90, f.p95, f.p99, f.max))
    titles = ("target", "figure", "n", "median", "p90", "p95", "p99", "max")
    return Section(
        title="open loop: times count from the instant a request was due",
        parts=(
            Table(columns=columns, rows=rows),
            Table(columns=tuple(Column(title=t) for t in titles), rows=tuple(figures)),
        ),
    )


def _idle(outcome: Outcome) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for name, measured in outcome.measured.items():
        if measured.idle is not None:
            token, warm = measured.idle["ttft_ms"], measured.warm["ttft_ms"]
            lost = measured.idle["connect_ms"].n
            rows.append((name, token.n, token.median, warm.median, lost, measured.idle["connect_ms"].max))
    columns = ("target", "n", "ttft after silence", "ttft warm", "connections lost", "reconnect, max")
    return Section(
        title=f"after {outcome.plan.idle_s:g} s of silence",
        parts=(Table(columns=tuple(Column(title=c) for c in columns), rows=tuple(rows)),),
    )


def _errors(outcome: Outcome) -> Section:
    rows = tuple(
        (name, kind, count, measured.details.get(kind, ""))
        for name, measured in outcome.measured.items()
        for kind, count in measured.errors.items()
    )
    columns = tuple(Column(title=t) for t in ("target", "error", "times", "last seen"))
    return Section(title="errors", parts=(Table(columns=columns, rows=rows),))


def _agent(outcome: Outcome) -> Section:
    loop = outcome.agent_loop
    columns = (
        Column(title="target"),
        Column(title="connection kept", unit="ms"),
        Column(title="new connection each time", unit="ms"),
    )
    rows = tuple((name, kept, loop.new_connection_each_ms[name]) for name, kept in loop.per_target.items())
    return Section(title=f"network time of {loop.steps} calls in sequence", parts=(Table(columns=columns, rows=rows),))


def _how(outcome: Outcome) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for name, target in outcome.targets.items():
        last = next((a for a in reversed(outcome.attempts[name]) if a.ip), None)
        rows.append(
            (
                name,
                target.url,
                target.dialect,
                target.model or None,
                last.ip if last else None,
                f"IPv{last.family}" if last else None,
                outcome.proxy.get(name) or "none",
                last.certificate_expires if last else None,
            )
        )
    titles = ("target", "url", "dialect", "model", "ip", "family", "proxy", "certificate until")
    said = f"{outcome.plan.rounds} rounds, seed {outcome.plan.seed}, certificate authorities {outcome.ca}"
    if outcome.overhead_ms is not None:
        said += f", the prober itself adds at most {outcome.overhead_ms:.2f} ms"
    if outcome.spent_usd is not None:
        said += f", cost {outcome.spent_usd:.4f} USD"
    table = Table(columns=tuple(Column(title=t) for t in titles), rows=tuple(rows))
    return Section(title="how it was measured", parts=(Text(text=said), table))
