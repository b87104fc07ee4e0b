"""The tree that a feature builds once and every writer can print.

A report is a :class:`Section`; its parts are texts, tables, charts and further sections. Values stay raw
(numbers, not strings) so that each writer formats them for its reader.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = [
    "Axis",
    "Cell",
    "Chart",
    "Column",
    "Part",
    "Point",
    "Section",
    "Series",
    "Table",
    "Text",
    "table_of",
]

Cell: TypeAlias = str | int | float | bool | None
Tone: TypeAlias = Literal["plain", "good", "warning", "bad"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A paragraph; ``tone`` says whether it is good news or a warning."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table. Unit ``%`` takes shares of 1; ``digits`` are decimals, chosen by size if None."""

    title: str
    unit: str = ""
    digits: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of raw values; None is what could not be known."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    title: str = ""
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What an axis shows, in which unit, and whether it is logarithmic."""

    title: str = ""
    unit: str = ""
    log: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One value; ``x`` is a number or a category, ``low`` and ``high`` an interval around ``y``."""

    x: float | str
    y: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Points that belong together, under the name shown in the legend."""

    name: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """``line`` over numeric x; ``bars`` and ``intervals`` over categories, one row each."""

    title: str
    kind: Literal["line", "bars", "intervals"]
    series: tuple[Series, ...]
    x: Axis = Axis()
    y: Axis = Axis()
    caption: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A titled part of a report, or the whole report."""

    title: str
    parts: tuple[Part, ...]


Part: TypeAlias = "Text | Table | Chart | Section"


def table_of(chart: Chart) -> Table:
    """Return the values behind a chart, one row per point."""
    intervals = any(p.low is not None or p.high is not None for s in chart.series for p in s.points)
    y = Column(title=chart.y.title or "value", unit=chart.y.unit)
    columns = [Column(title="series"), Column(title=chart.x.title or "x", unit=chart.x.unit), y]
    if intervals:
        columns += [Column(title="low", unit=chart.y.unit), Column(title="high", unit=chart.y.unit)]
    rows = tuple(
        (s.name, p.x, p.y, p.low, p.high) if intervals else (s.name, p.x, p.y) for s in chart.series for p in s.points
    )
    return Table(columns=tuple(columns), rows=rows, caption=chart.caption)
