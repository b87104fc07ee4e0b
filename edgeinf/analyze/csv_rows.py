"""Rows of CSV files as mappings."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from edgeinf.analyze.record import Damaged

__all__ = ["rows"]

_LONGEST_CELL = 2**31 - 1  # a cell may hold a whole prompt


def rows(paths: Sequence[str]) -> Iterator[dict[str, str] | Damaged]:
    """Yield every row of the files by column name; cells that are missing are empty."""
    csv.field_size_limit(_LONGEST_CELL)
    for path in paths:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            reader = csv.DictReader(file, restval="")
            while True:
                try:
                    row = next(reader)
                except StopIteration:
                    break
                except csv.Error:
                    yield Damaged("not CSV")
                    continue
                yield {(name or "").strip(): value for name, value in row.items() if isinstance(value, str)}
