"""One report that has everything a renderer meets, and the comparison with golden files.

``EDGEINF_GOLDEN=write`` writes them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

from edgeinf.core.config.diagnostic import Diagnostic
from edgeinf.validate.report import FileReport, Report
from tests.validate.kit import examined

__all__ = ["compare", "report"]

_GOLDEN = Path(__file__).with_name("golden")
_TEXT = """\
cache:
  disk:
    max_szie: 100MB   # 日本
  "ttl": 10
  level: "日本"
regions:
- {name: a, url: "https://a.example.com/v1", api_key: not-a-real-key}
- {name: a, url: "http://b.example.com", headers: {X: "50% <&> \\"|\\" :,"}}
"""


def report(tmp_path: Path) -> Report:
    """Return a report on two files, one of them clean, and a finding without a place."""
    found = examined(_TEXT, tmp_path, name="conf/edgeinf, a.yaml")
    nowhere = Diagnostic(
        code="E101",
        severity="error",
        message="listen.port: 'x' is not a whole number",
        origin="EDGEINF_LISTEN__PORT",
    )
    unknown = Diagnostic(code="U101", severity="unknown", message="the region 'a' could not be asked")
    first = FileReport(
        name=found.name, diagnostics=(nowhere, unknown, *found.diagnostics), lines=found.lines, variables=("A_KEY",)
    )
    return Report(files=(first, examined("version: 1\n", tmp_path, name="fine.yaml")))


def compare(name: str, text: str) -> None:
    """Fail unless ``text`` is what the golden file holds."""
    file = _GOLDEN / name
    if os.environ.get("EDGEINF_GOLDEN") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8"), f"EDGEINF_GOLDEN=write pytest {Path(__file__).parent} writes it"
