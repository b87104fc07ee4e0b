"""The tree as GitHub-flavoured Markdown; charts become the tables behind them."""

from __future__ import annotations

from edgeinf.core.printable import printable
from edgeinf.core.report.cells import format_cell, header, is_numeric
from edgeinf.core.report.tree import Chart, Part, Section, Table, Text, table_of

__all__ = ["to_markdown"]

_MARK = {"plain": "", "good": "✅ ", "warning": "⚠️ ", "bad": "❌ "}


def to_markdown(section: Section) -> str:
    """Return the report as Markdown, starting with a level-one heading."""
    return "\n\n".join(_blocks(section, 1)) + "\n"


def _blocks(part: Part, level: int) -> list[str]:
    match part:
        case Text():
            return [_MARK[part.tone] + printable(part.text).replace("<", "&lt;")]
        case Table():
            titled = [f"**{part.title}**"] if part.title else []
            return [*titled, _table(part), *([f"*{part.caption}*"] if part.caption else [])]
        case Chart():
            return [f"**{part.title}**", *_blocks(table_of(part), level)]
        case Section():
            inner = [block for child in part.parts for block in _blocks(child, level + 1)]
            return [f"{'#' * min(level, 6)} {printable(part.title)}", *inner]


def _table(table: Table) -> str:
    right = [is_numeric(table.rows, i) for i in range(len(table.columns))]
    lines = [
        _line([header(c) for c in table.columns]),
        _line(["---:" if r else "---" for r in right]),
        *(_line([format_cell(v, c) for v, c in zip(row, table.columns, strict=True)]) for row in table.rows),
    ]
    return "\n".join(lines)


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(c.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;") for c in cells) + " |"
