"""Rows of CSV files as mappings."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

__all__ = ["rows"]


def rows(paths: Sequence[str]) -> Iterator[dict[str, str]]:
    """Yield every row of the files by column name; cells that are missing are empty."""
    for path in paths:
        with open(path, encoding="utf-8-sig", errors="replace", newline="") as file:
            for row in csv.DictReader(file, restval=""):
                yield {(name or "").strip(): value for name, value in row.items() if isinstance(value, str)}
