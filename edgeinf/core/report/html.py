"""The tree as one self-contained page: no outside asset, no script, light or dark as the reader likes."""

from __future__ import annotations

from html import escape
from importlib import resources

from edgeinf.core.report.cells import format_cell, header, is_numeric
from edgeinf.core.report.svg import COLOURS, to_svg
from edgeinf.core.report.tree import Chart, Part, Section, Table, Text, table_of

__all__ = ["to_html"]

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def to_html(section: Section) -> str:
    """Return a whole HTML document; it can be mailed, archived and opened without a network."""
    style = resources.files("edgeinf.core.report").joinpath("page.css").read_text("utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(section.title)}</title><style>{style}</style></head>\n"
        f"<body><main>{_part(section, 1)}</main></body></html>\n"
    )


def _part(part: Part, level: int) -> str:
    match part:
        case Text():
            tone = "" if part.tone == "plain" else f' class="{part.tone}"'
            return f"<p{tone}>{escape(part.text)}</p>\n"
        case Table():
            return _table(part)
        case Chart():
            return _figure(part)
        case Section():
            inner = "".join(_part(child, level + 1) for child in part.parts)
            tag = f"h{min(level, 6)}"
            return f"<section><{tag}>{escape(part.title)}</{tag}>\n{inner}</section>\n"


def _table(table: Table) -> str:
    right = [' class="n"' if is_numeric(table.rows, i) else "" for i in range(len(table.columns))]
    head = "".join(f'<th scope="col"{r}>{escape(header(c))}</th>' for c, r in zip(table.columns, right, strict=True))
    rows = "".join(
        "<tr>"
        + "".join(f"<td{r}>{escape(format_cell(v, c))}</td>" for v, c, r in zip(row, table.columns, right, strict=True))
        + "</tr>\n"
        for row in table.rows
    )
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    note = f'<p class="note">{escape(table.caption)}</p>\n' if table.caption else ""
    return (
        f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead>'
        f"<tbody>\n{rows}</tbody></table></div>\n{note}"
    )


def _figure(chart: Chart) -> str:
    legend = ""
    if len(chart.series) > 1:
        names = "".join(
            f'<li class="c{i % COLOURS}"><i></i><span>{escape(s.name)}</span></li>' for i, s in enumerate(chart.series)
        )
        legend = f'<ul class="legend">{names}</ul>'
    return (
        f"<figure><figcaption>{escape(chart.title)}</figcaption>{legend}{to_svg(chart)}\n"
        f"<details><summary>table</summary>{_table(table_of(chart))}</details></figure>\n"
    )
