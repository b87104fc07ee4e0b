"""How a raw value is written for a person, the same in every output."""

from __future__ import annotations

import math

from edgeinf.core.printable import printable
from edgeinf.core.report.tree import Cell, Column

__all__ = ["ABSENT", "format_cell", "format_number", "header", "is_numeric"]

ABSENT = "–"


def format_number(value: float, digits: int | None = None) -> str:
    """Write a number with thousands separators and, unless told, about three significant digits."""
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if digits is None:
        size = abs(value)
        digits = 0 if size >= 100 or value == int(value) else 1 if size >= 10 else 2 if size >= 0.1 else 4
    return f"{value:,.{digits}f}"


def format_cell(value: Cell, column: Column) -> str:
    """Write one value of a column; None is a dash, shares become per cent."""
    if value is None:
        return ABSENT
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return printable(value)
    if column.unit == "%":
        return format_number(value * 100, 1 if column.digits is None else column.digits)
    return format_number(value, column.digits)


def header(column: Column) -> str:
    """Write a column's title with its unit."""
    return f"{column.title} ({column.unit})" if column.unit else column.title


def is_numeric(rows: tuple[tuple[Cell, ...], ...], index: int) -> bool:
    """Return whether a column holds numbers, which are aligned to the right."""
    values = [row[index] for row in rows if row[index] is not None]
    return bool(values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in values)
