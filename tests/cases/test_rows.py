"""The table of cases is complete, and names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent
ROWS = {
    *(1, 2, 4, 6, 7, 8, 9, 11, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 25, 26, 28, 29, 30, 31, 32, 33, 34, 35, 37),
    *(39, 40, 42, 43, 44, 46, 47, 48, 49, 50, 51, 53, 54, 55, 56, 58, 59, 60, 62, 64, 65, 66, 67, 69, 70, 72, 73, 74),
    *(75, 76, 78, 79, 81, 82, 83),
}


def _table() -> list[tuple[str, str]]:
    lines = (HERE / "README.md").read_text().splitlines()
    cells = [line.strip("|").split("|") for line in lines if line.startswith("| P")]
    return [(rows, tests) for rows, _, tests in cells]


def test_every_row_has_a_test() -> None:
    named = {row for rows, _ in _table() for row in rows.split()}
    assert named == {f"P{number}" for number in ROWS} | {"P62b"}
    assert all(re.findall(r"`[^`]+`", tests) for _, tests in _table())


def test_every_test_named_exists() -> None:
    for _, tests in _table():
        for path, name in re.findall(r"`([^`:]+)::([^`]+)`", tests):
            text = (HERE.parent / path).read_text()
            assert re.search(rf"^(async )?def {name}\(", text, re.M), f"{path} has no {name}"


def test_the_table_matches_the_list_of_cases(shared_data: Path) -> None:
    text = (shared_data.parent / "cases" / "proxy.md").read_text()
    assert set(re.findall(r"^\| (P\d+b?) \|", text, re.M)) == {f"P{number}" for number in ROWS} | {"P62b"}
