"""What the tests of validate share: one way to examine a text in a directory that has the files examples name."""

from __future__ import annotations

from pathlib import Path

from edgeinf.validate.check import Options, check
from edgeinf.validate.report import FileReport
from tests.core.config.kit import ENV, TODAY


def examined(text: str | bytes, tmp_path: Path, name: str = "edgeinf.yaml", **options: object) -> FileReport:
    """Return the report on ``text``."""
    (tmp_path / "key.txt").write_text("k")
    made = Options(**{"env": ENV, "today": TODAY, **options})  # type: ignore[arg-type]
    return check(text, name, base=tmp_path, options=made)[0]


def codes(report: FileReport) -> list[str]:
    """Return the codes in order."""
    return [d.code for d in report.diagnostics]
