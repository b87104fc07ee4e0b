"""GitLab's code quality report: docs.gitlab.com/ci/testing/code_quality."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from edgeinf.core.config.diagnostic import Diagnostic, dotted
from edgeinf.validate.report import FileReport, Report

__all__ = ["render"]

_SEVERITIES = {"error": "critical", "warning": "minor", "info": "info", "unknown": "info"}


def render(report: Report) -> str:
    """Return a list of issues; fingerprints stay while lines move."""
    seen: dict[str, int] = {}
    issues = [_issue(file, d, seen) for file in report.files for d in file.diagnostics]
    return json.dumps(issues, indent=2, ensure_ascii=False) + "\n"


def _issue(file: FileReport, d: Diagnostic, seen: dict[str, int]) -> dict[str, Any]:
    what = f"{file.name}\0{d.code}\0{dotted(d.path)}\0{d.message}"
    seen[what] = seen.get(what, 0) + 1
    return {
        "description": "; ".join(part for part in (d.message, d.label, d.help) if part),
        "check_name": d.code,
        "fingerprint": hashlib.sha256(f"{what}\0{seen[what]}".encode()).hexdigest(),
        "severity": _SEVERITIES[d.severity],
        "location": {"path": file.name.removeprefix("./"), "lines": {"begin": d.span.line if d.span else 1}},
    }
