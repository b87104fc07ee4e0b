from __future__ import annotations

from pathlib import Path

from edgeinf.validate.render.github import render, summary
from edgeinf.validate.report import Report
from tests.validate.kit import examined
from tests.validate.render.kit import compare, report


def test_the_form_is_the_golden_one(tmp_path: Path) -> None:
    compare("github.txt", render(report(tmp_path)))


def test_beyond_ten_a_notice_points_at_the_summary_which_has_all(tmp_path: Path) -> None:
    many = Report(files=(examined("".join(f"key{n}: 1\n" for n in range(15)), tmp_path),))
    assert render(many).count("::error ") == 10
    assert "::notice::5 more findings" in render(many)
    assert summary(many).count("[E104]") == 15


def test_the_summary_is_the_golden_one(tmp_path: Path) -> None:
    compare("github.md", summary(report(tmp_path)))


def test_no_finding_says_so() -> None:
    assert "Nothing found" in summary(Report())
