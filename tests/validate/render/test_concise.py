from __future__ import annotations

from pathlib import Path

from edgeinf.validate.render.concise import render
from tests.validate.render.kit import compare, report


def test_the_form_is_the_golden_one(tmp_path: Path) -> None:
    compare("concise.txt", render(report(tmp_path)))
