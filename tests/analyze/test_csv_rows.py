"""Rows of CSV files."""

from __future__ import annotations

from pathlib import Path

from edgeinf.analyze.csv_rows import rows


def test_short_rows_and_marks_are_borne(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes('\ufeffa, b\n1,2\n3\n"x, y",4\n'.encode())
    assert list(rows([str(path)])) == [{"a": "1", "b": "2"}, {"a": "3", "b": ""}, {"a": "x, y", "b": "4"}]
