"""The tree for a person at a terminal, and as plain text where there is none."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING

from edgeinf.core.printable import printable
from edgeinf.core.report.cells import format_cell, header, is_numeric
from edgeinf.core.report.scale import scale_for
from edgeinf.core.report.spark import bar, interval, sparkline
from edgeinf.core.report.tree import Axis, Chart, Column, Part, Point, Section, Series, Table, Text

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table as RichTable

__all__ = ["console_for", "render", "write_terminal"]

_STYLE = {"plain": "", "good": "green", "warning": "yellow", "bad": "red"}


def write_terminal(section: Section, stream: IO[str], *, colour: bool, width: int | None = None) -> None:
    """Print the report to ``stream``; without colour it is plain text that survives a pipe."""
    console = console_for(stream, colour=colour, width=width)
    for block in render(section):
        console.print(block)


def console_for(stream: IO[str], *, colour: bool, width: int | None = None) -> Console:
    """Return a console that neither guesses colours nor cuts lines in a pipe."""
    from rich.console import Console

    if width is None and not stream.isatty():
        width = 120
    return Console(file=stream, no_color=not colour, highlight=False, width=width, emoji=False, markup=False)


def render(part: Part, level: int = 1) -> list[RenderableType]:
    """Return a part as things that rich can print."""
    from rich.text import Text as RichText

    match part:
        case Text():
            return [RichText(printable(part.text), style=_STYLE[part.tone])]
        case Table():
            caption = [RichText(part.caption, style="dim")] if part.caption else []
            return [_table(part), *caption, RichText("")]
        case Chart():
            return [RichText(part.title, style="bold"), *_chart(part), RichText("")]
        case Section():
            inner = [block for child in part.parts for block in render(child, level + 1)]
            return [RichText(printable(part.title), style="bold underline" if level == 1 else "bold"), *inner]


def _table(table: Table) -> RichTable:
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

    out = RichTable(box=box.SIMPLE_HEAD, title=table.title or None, title_justify="left", pad_edge=False)
    for index, column in enumerate(table.columns):
        right = is_numeric(table.rows, index)
        out.add_column(RichText(header(column)), justify="right" if right else "left", overflow="fold")
    for row in table.rows:
        out.add_row(*(RichText(format_cell(v, c)) for v, c in zip(row, table.columns, strict=True)))
    return out


def _chart(chart: Chart) -> list[RenderableType]:
    from rich.text import Text as RichText

    names = [_name(chart, s, p) for s in chart.series for p in s.points] if chart.kind != "line" else []
    names += [printable(s.name) for s in chart.series] if chart.kind == "line" else []
    width = min(30, max(map(len, names), default=0))
    if chart.kind == "line":
        return [RichText(f"  {printable(s.name)[:width]:<{width}}  {_spark(s, chart.y)}") for s in chart.series]
    values = [v for s in chart.series for p in s.points for v in (p.y, p.low, p.high) if v is not None]
    scale = scale_for(values, from_zero=True)
    lines: list[RenderableType] = []
    for series in chart.series:
        for p in series.points:
            if p.y is None:
                drawn, value = "", "–"
            else:
                value = _say(p.y, chart.y)
                low, high = (p.y if p.low is None else p.low), (p.y if p.high is None else p.high)
                drawn = bar(scale.share(p.y)) if chart.kind == "bars" else interval(low, p.y, high, scale)
            lines.append(RichText(f"  {_name(chart, series, p)[:width]:<{width}}  {drawn} {value}"))
    return lines


def _name(chart: Chart, series: Series, point: Point) -> str:
    return printable(f"{point.x} · {series.name}" if len(chart.series) > 1 else str(point.x))


def _spark(series: Series, axis: Axis) -> str:
    values = [p.y for p in series.points]
    held = [v for v in values if v is not None]
    if not held:
        return "–"
    return f"{sparkline(values, 40)}  {_say(min(held), axis)} to {_say(max(held), axis)}"


def _say(value: float, axis: Axis) -> str:
    unit = f" {axis.unit}" if axis.unit else ""
    return format_cell(value, Column(title="", unit=axis.unit)) + unit
