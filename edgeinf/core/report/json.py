"""The tree as plain JSON values, for a program that wants what the page shows."""

from __future__ import annotations

from typing import Any

from edgeinf.core.report.tree import Cell, Chart, Part, Section, Table, Text, table_of

__all__ = ["to_json"]


def to_json(part: Part) -> dict[str, Any]:
    """Return a part as dicts and lists; a table's rows are objects keyed by column title."""
    match part:
        case Text():
            return {"kind": "text", "text": part.text, "tone": part.tone}
        case Table():
            return {"kind": "table", "title": part.title, "caption": part.caption, "rows": _rows(part)}
        case Chart():
            return {
                "kind": "chart",
                "title": part.title,
                "caption": part.caption,
                "rows": _rows(table_of(part)),
            }
        case Section():
            return {"kind": "section", "title": part.title, "parts": [to_json(p) for p in part.parts]}


def _rows(table: Table) -> list[dict[str, Cell]]:
    titles = [column.title for column in table.columns]
    return [dict(zip(titles, row, strict=True)) for row in table.rows]
