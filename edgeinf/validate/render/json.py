"""For scripts: the document that the contract names."""

from __future__ import annotations

import json
from typing import Any

from edgeinf.core.config.diagnostic import Diagnostic, dotted
from edgeinf.core.redact import redact
from edgeinf.validate.report import Report

__all__ = ["document", "render"]


def render(report: Report) -> str:
    """Return the document as text."""
    return json.dumps({"schema_version": 1, **document(report)}, indent=2, ensure_ascii=False) + "\n"


def document(report: Report) -> dict[str, Any]:
    """Return ``files`` and ``summary``; positions are 1-based, the end exclusive, null where there is none."""
    return {
        "files": [
            {
                "path": file.name,
                "kind": file.kind,
                "variables": list(file.variables),
                "diagnostics": [_diagnostic(d) for d in file.diagnostics],
            }
            for file in report.files
        ],
        "summary": {
            "errors": report.count("error"),
            "warnings": report.count("warning"),
            "infos": report.count("info"),
            "unknown": report.count("unknown"),
        },
    }


def _diagnostic(d: Diagnostic) -> dict[str, Any]:
    return {
        "code": d.code,
        "severity": d.severity,
        "message": d.message,
        "line": d.span.line if d.span else None,
        "column": d.span.column if d.span else None,
        "end_line": d.span.end_line if d.span else None,
        "end_column": d.span.end_column if d.span else None,
        "path": redact(dotted(d.path)),
        "label": d.label,
        "help": d.help,
        "related": [
            {
                "message": r.message,
                "line": r.span.line if r.span else None,
                "column": r.span.column if r.span else None,
            }
            for r in d.related
        ],
        "origin": d.origin,
        "docs": d.docs,
    }
