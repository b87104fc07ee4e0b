"""The findings as one tree for people: the first screen says whether it is worth it and what to change."""

from __future__ import annotations

from edgeinf.analyze.report_parts import change, gateways, headline, prefix_cache, risk, what_if
from edgeinf.analyze.run import Analysis
from edgeinf.core.report.tree import Axis, Cell, Chart, Column, Part, Point, Section, Series, Table, Text
from edgeinf.core.units import format_duration

__all__ = ["summary", "tree"]

_LARGEST = 20


def tree(a: Analysis) -> Section:
    """Return the whole report."""
    parts: list[Part] = [*_verdict(a), *headline(a), _levels(a)]
    parts += [Text(text=w, tone="warning") for w in a.warnings]
    later = (change(a), risk(a), _who(a), what_if(a), prefix_cache(a), gateways(a), _curves(a), _segments(a), _top(a))
    parts += [p for p in later if p is not None]
    return Section(title=f"What a cache would bring: {', '.join(a.sources.names)}", parts=tuple(parts))


def summary(a: Analysis) -> Section:
    """Return what fits on a screen, for a log that is being watched."""
    return Section(title=f"{', '.join(a.sources.names)}: {a.log.rows:,} requests", parts=(*_verdict(a), _levels(a)))


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _verdict(a: Analysis) -> list[Part]:
    run = a.default
    if run is None:
        why = "neither prompts nor keys" if not a.log.has_content else f"no keys of the level {a.options.level}"
        return [Text(text=f"the log has {why}: no hit rate can be told", tone="bad")]
    rate = run.worth.request_rate
    policy = a.options.policy
    said = (
        f"{_percent(rate)} of {a.log.rows:,} requests repeat one that is in the cache by then "
        f"(level {a.options.level}, scope {a.options.scope or ('as logged' if a.from_events else 'key')}, "
        f"ttl {format_duration(policy.ttl_s)})."
    )
    w = run.worth
    worth = [
        f"{_percent(w.token_rate)} of tokens" if w.token_rate is not None else None,
        f"{_percent(w.usd_rate)} of cost (USD {w.usd:,.2f})" if w.usd_rate is not None and w.usd is not None else None,
        f"{_percent(w.second_rate)} of waiting ({w.seconds:,.0f} s)"
        if w.second_rate is not None and w.seconds
        else None,
    ]
    known = [x for x in worth if x]
    parts: list[Part] = [Text(text=said, tone="good" if rate >= 0.1 else "warning")]
    if known:
        parts.append(Text(text="Those hits are " + ", ".join(known) + "."))
    coalescable = int(run.coalesced.sum())
    if coalescable:
        parts.append(
            Text(text=f"{coalescable:,} more arrive while the same question is being answered: coalescing saves those.")
        )
    return parts


def _levels(a: Analysis) -> Table:
    rows: list[tuple[Cell, ...]] = []
    before = 0
    for name, run in a.levels.items():
        if run is None:
            rows.append((name, None, None, None, None, None, None, None))
            continue
        w = run.worth
        rows.append(
            (name, run.hits, w.request_rate, w.token_rate, w.usd_rate, w.second_rate, run.hits - before, run.unique)
        )
        before = run.hits
    return Table(
        title="by level",
        columns=(
            Column(title="level"),
            Column(title="hits"),
            Column(title="requests", unit="%"),
            Column(title="tokens", unit="%"),
            Column(title="cost", unit="%"),
            Column(title="time", unit="%"),
            Column(title="added hits"),
            Column(title="distinct"),
        ),
        rows=tuple(rows),
        caption="shares of all requests read, of their tokens, cost and latency; each level includes the ones above it",
    )


def _who(a: Analysis) -> Section | None:
    parts: list[Part] = []
    if a.reasons:
        parts.append(
            Table(
                title=f"not eligible: {_percent(1 - a.eligible / a.log.rows)} of requests",
                columns=(Column(title="reason"), Column(title="requests"), Column(title="share", unit="%")),
                rows=tuple((reason, count, count / a.log.rows) for reason, count in a.reasons.items()),
            )
        )
    r = a.repeats
    if r is not None and r.repeats:
        rows = (
            ("same session", r.same_session),
            ("same user", r.same_user),
            ("same tenant", r.same_tenant),
            ("another tenant", r.across_tenants),
            ("right after one another", r.consecutive),
            ("of the ten most frequent", r.top10_share),
        )
        parts.append(
            Table(
                title=f"who repeats: {r.repeats:,} repeats if everybody shared",
                columns=(Column(title="the one before came from"), Column(title="share of repeats", unit="%")),
                rows=rows,
            )
        )
    return Section(title="Who repeats whom", parts=tuple(parts)) if parts else None


def _curves(a: Analysis) -> Section | None:
    parts: list[Part] = []
    if a.curves:
        parts.append(
            Chart(
                title="hit rate over entries kept (LRU, no expiry)",
                kind="line",
                x=Axis(title="entries", log=True),
                y=Axis(title="hit rate", unit="%"),
                series=tuple(
                    Series(name=level, points=tuple(Point(x=n, y=rate) for n, rate in c.capacity.points))
                    for level, c in a.curves.items()
                ),
                caption="share of look-ups of eligible requests",
            )
        )
        reach: tuple[tuple[Cell, ...], ...] = tuple(
            (level, c.capacity.for_90, c.capacity.for_99) for level, c in a.curves.items()
        )
        parts.append(
            Table(
                title="entries that bring nearly all of it",
                columns=(Column(title="level"), Column(title="90 % of the ceiling"), Column(title="99 %")),
                rows=reach,
            )
        )
    timed = {level: c.ttl for level, c in a.curves.items() if c.ttl}
    if timed:
        ttls = [t for t, _ in next(iter(timed.values()))]
        parts.append(
            Table(
                title="hit rate by time to live",
                columns=(Column(title="ttl"), *(Column(title=level, unit="%") for level in timed)),
                rows=tuple(
                    (format_duration(t), *(rates[i][1] for rates in timed.values())) for i, t in enumerate(ttls)
                ),
                caption="share of look-ups of eligible requests, nothing evicted",
            )
        )
    both = a.curves[a.options.level].ttl_capacity if a.options.level in a.curves else None
    if both:
        sizes = list(dict.fromkeys(entries for _, entries, _ in both))
        rates = {(t, n): rate for t, n, rate in both}
        parts.append(
            Table(
                title=f"hit rate by time to live and entries, level {a.options.level}",
                columns=(Column(title="ttl"), *(Column(title=f"{n:,} entries", unit="%") for n in sizes)),
                rows=tuple(
                    (format_duration(t), *(rates[t, n] for n in sizes)) for t in dict.fromkeys(t for t, _, _ in both)
                ),
            )
        )
    if a.warmup:
        parts.append(
            Chart(
                title="hit rate over the length of the log",
                kind="line",
                x=Axis(title="requests"),
                y=Axis(title="hit rate", unit="%"),
                series=(
                    Series(name="so far", points=tuple(Point(x=n, y=rate) for n, rate, _ in a.warmup)),
                    Series(name="latest stretch", points=tuple(Point(x=n, y=recent) for n, _, recent in a.warmup)),
                ),
                caption="a curve that still rises says that a longer log would show more",
            )
        )
    return Section(title="What it takes", parts=tuple(parts)) if parts else None


def _most(kind: str) -> int:
    return 24 if kind == "hour" else _LARGEST


def _segments(a: Analysis) -> Section | None:
    parts: list[Part] = [
        Table(
            title=f"by {kind}" + (f", the {_LARGEST} with most requests" if len(rows) > _most(kind) else ""),
            columns=(
                Column(title=kind if kind != "hour" else "hour (UTC)"),
                Column(title="requests"),
                Column(title="hits"),
                Column(title="hit rate", unit="%"),
            ),
            rows=tuple((s.value, s.requests, s.hits, s.hit_rate) for s in rows[: _most(kind)]),
        )
        for kind, rows in a.segments.items()
        if rows
    ]
    return Section(title="Where the hits are", parts=tuple(parts)) if parts else None


def _top(a: Analysis) -> Table | None:
    if not a.top:
        return None
    return Table(
        title="most frequent questions",
        columns=(
            Column(title="question"),
            Column(title="requests"),
            Column(title="hits"),
            Column(title="tokens saved"),
            Column(title="USD saved"),
        ),
        rows=tuple((text or "(no prompt in the log)", t.requests, t.hits, t.tokens, t.usd) for t, text in a.top),
    )
