"""The state of a run while it goes on: last values, medians, sparklines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgeinf.core.report.spark import sparkline
from edgeinf.core.report.tree import Cell, Column, Section, Table
from edgeinf.core.stats import quantile
from edgeinf.probe.figures import figures
from edgeinf.probe.values import Attempt, Phase

__all__ = ["live_line", "live_section"]

_COLUMNS = (
    Column(title="target"),
    Column(title="n"),
    Column(title="last", unit="ms"),
    Column(title="median", unit="ms"),
    Column(title="min", unit="ms"),
    Column(title="max", unit="ms"),
    Column(title="loss", unit="%"),
    Column(title="last 40"),
)
_KEPT = 40


def live_section(attempts: Mapping[str, Sequence[Attempt]], figure: str, phase: Phase) -> Section:
    """Return one row per target; a failed attempt is a cross in its sparkline."""
    rows = tuple(_row(name, made, figure, phase) for name, made in attempts.items())
    return Section(title=f"{figure}, {phase}", parts=(Table(columns=_COLUMNS, rows=rows),))


def live_line(attempts: Mapping[str, Sequence[Attempt]], figure: str, phase: Phase) -> str:
    """Return the same in one line."""
    said = []
    for name, made in attempts.items():
        row = _row(name, made, figure, phase)
        median = "–" if row[3] is None else f"{row[3]:.1f}"
        said.append(f"{name} {median} ms ({row[1]} of {len(made)})")
    return f"{figure}: " + ", ".join(said)


def _row(name: str, made: Sequence[Attempt], figure: str, phase: Phase) -> tuple[Cell, ...]:
    counted = [a for a in made if a.phase == phase or not a.ok]
    series = [figures(a).get(figure) if a.ok else None for a in counted]
    held = [v for v in series if v is not None]
    return (
        name,
        len(held),
        held[-1] if held else None,
        quantile(held, 0.5) if held else None,
        min(held, default=None),
        max(held, default=None),
        sum(not a.ok for a in made) / len(made) if made else None,
        sparkline(series, _KEPT),
    )
