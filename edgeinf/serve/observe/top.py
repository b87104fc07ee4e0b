"""The dashboard as a report: what ``edgeinf top`` draws from the server's own figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from edgeinf.core.report.tree import Axis, Chart, Column, Part, Point, Section, Series, Table, Text

__all__ = ["line_of", "report_of"]

_ROWS = 12
_SPARK = 60


def report_of(stats: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> Section:
    """Return the cards, the last minutes, regions, tiers and the latest requests."""
    parts: list[Part] = [Text(text=note, tone="warning") for note in stats["notes"]]
    parts += [_cards(stats), *_series(stats["series"]), _regions(stats["regions"]), _tiers(stats["tiers"])]
    if events:
        parts.append(_requests(events[:_ROWS]))
    workers = stats["workers"]
    processes = "one process" if workers == 1 else f"{workers} processes"
    return Section(title=f"edgeinf {stats['version']}, {processes}", parts=tuple(parts))


def line_of(stats: Mapping[str, Any]) -> str:
    """Return the same in one line, for logs."""
    totals, window = stats["totals"], stats["window"]
    rate = "–" if totals["hit_rate"] is None else f"{totals['hit_rate']:.1%}"
    return (
        f"{totals['requests']} requests, {window['requests_per_s']:.1f} per second, {rate} hits, "
        f"${totals['usd_saved']:.2f} and {totals['seconds_saved']:.0f} s saved, {totals['errors']} errors"
    )


def _cards(stats: Mapping[str, Any]) -> Table:
    totals, window = stats["totals"], stats["window"]
    return Table(
        columns=(
            Column(title="requests"),
            Column(title="per second", digits=1),
            Column(title="hits", unit="%"),
            Column(title="saved", unit="USD", digits=2),
            Column(title="saved", unit="s", digits=1),
            Column(title="errors"),
            Column(title="first token p50", unit="ms", digits=1),
            Column(title="own part", unit="ms", digits=2),
        ),
        rows=(
            (
                totals["requests"],
                window["requests_per_s"],
                totals["hit_rate"],
                totals["usd_saved"],
                totals["seconds_saved"],
                totals["errors"],
                window["ttft_ms"]["p50"],
                totals["overhead_ms_mean"],
            ),
        ),
    )


def _series(series: Mapping[str, Any]) -> list[Part]:
    times = series["at"][-_SPARK:]
    if len(times) < 2:
        return []

    def drawn(name: str, values: Sequence[float | None]) -> Series:
        return Series(name=name, points=tuple(Point(x=float(t), y=v) for t, v in zip(times, values, strict=True)))

    step = series["step_s"]
    rates = [drawn(name, [v / step for v in series[name][-_SPARK:]]) for name in ("requests", "hits", "errors")]
    ttft = drawn("first token", series["ttft_ms_p50"][-_SPARK:])
    minutes = len(times) * step / 60
    return [
        Chart(title=f"last {minutes:.0f} minutes", kind="line", series=tuple(rates), y=Axis(unit="per second")),
        Chart(title="median", kind="line", series=(ttft,), y=Axis(unit="ms")),
    ]


def _regions(regions: Sequence[Mapping[str, Any]]) -> Table:
    columns = ("region", "health", "under way", "requests", "errors")
    return Table(
        title="regions, last five minutes",
        columns=(
            *(Column(title=title) for title in columns),
            *(Column(title=name, unit="ms", digits=1) for name in ("p50", "p95", "p99")),
        ),
        rows=tuple(
            (
                r["name"],
                "up" if r["healthy"] else f"left out: {r['note']}",
                r["in_flight"],
                r["requests"],
                r["errors"],
                r["p50_ms"],
                r["p95_ms"],
                r["p99_ms"],
            )
            for r in regions
        ),
    )


def _tiers(tiers: Sequence[Mapping[str, Any]]) -> Table:
    columns = (
        Column(title="tier"),
        Column(title="state"),
        Column(title="entries"),
        Column(title="size", unit="MiB", digits=1),
        Column(title="let go"),
    )
    rows = tuple(
        (
            t["name"],
            "in use" if t["failure"] is None else f"left out: {t['failure']}",
            t["entries"],
            None if t["bytes"] is None else t["bytes"] / 2**20,
            t["evicted"],
        )
        for t in tiers
    )
    return Table(title="cache tiers", columns=columns, rows=rows)


def _requests(events: Sequence[Mapping[str, Any]]) -> Table:
    titles = ("time", "model", "status", "why", "region")
    return Table(
        title="latest requests",
        columns=(*(Column(title=title) for title in titles), Column(title="whole", unit="ms", digits=1)),
        rows=tuple(
            (
                datetime.fromtimestamp(e["at"]).strftime("%H:%M:%S"),
                e["model"],
                e["status"],
                e["why"],
                e["region"],
                e["total_ms"],
            )
            for e in events
        ),
    )
