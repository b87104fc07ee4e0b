from __future__ import annotations

import re
from pathlib import Path

from edgeinf.validate.render.text import render
from edgeinf.validate.report import Report
from tests.validate.kit import examined
from tests.validate.render.kit import compare, report


def test_the_form_is_the_golden_one(tmp_path: Path) -> None:
    compare("text.txt", render(report(tmp_path)))


def test_colour_changes_no_word(tmp_path: Path) -> None:
    painted = render(report(tmp_path), colour=True)
    assert "\x1b[1;31merror[E104]\x1b[0m" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == render(report(tmp_path))


def test_the_caret_stands_under_the_value_however_wide_the_line(tmp_path: Path) -> None:
    long = examined("listen: {host: " + "x" * 300 + ", port: '80'}\n", tmp_path)
    wide = examined("prices: {日本語: {input: x}}\n", tmp_path)
    assert render(Report(files=(long,))).splitlines()[3].rstrip().endswith("^^^^")
    lines = render(Report(files=(wide,))).splitlines()
    assert lines[2].startswith("1 | prices: {日本語: {input: x")
    assert lines[3] == "  |" + " " * len(" prices: {") + " " * 6 + " " * len(": {input: ") + "^"


def test_hundreds_of_findings_are_counted(tmp_path: Path) -> None:
    many = examined("".join(f"key{n}: 1\n" for n in range(200)), tmp_path)
    text = render(Report(files=(many,)))
    assert text.count("error[E104]") == 50
    assert "… and 150 more" in text
    assert text.endswith("edgeinf.yaml: 200 errors\n")


def test_a_clean_file_is_fine(tmp_path: Path) -> None:
    assert render(Report(files=(examined("version: 1\n", tmp_path),))) == "edgeinf.yaml: fine\n"
