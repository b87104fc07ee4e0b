"""SARIF 2.1.0, for code scanning: docs.oasis-open.org/sarif/sarif/v2.1.0."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from edgeinf import __version__
from edgeinf.core.config.diagnostic import DOCS, Diagnostic, Span
from edgeinf.validate.report import FileReport, Report
from edgeinf.validate.rules.registry import ALL

__all__ = ["render"]

_LEVELS = {"error": "error", "warning": "warning", "info": "note", "unknown": "none"}


def render(report: Report) -> str:
    """Return one run with the rules that were found."""
    found = sorted({d.code for file in report.files for d in file.diagnostics})
    index = {code: number for number, code in enumerate(found)}
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "edgeinf",
                        "version": __version__,
                        "informationUri": DOCS,
                        "rules": [_rule(code) for code in found],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(file, d, index) for file in report.files for d in file.diagnostics],
            }
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _rule(code: str) -> dict[str, Any]:
    rule = ALL.get(code)
    made: dict[str, Any] = {"id": code, "helpUri": DOCS + code}
    if rule is not None:
        made["shortDescription"] = {"text": rule.title}
        made["fullDescription"] = {"text": rule.why}
    return made


def _result(file: FileReport, d: Diagnostic, index: dict[str, int]) -> dict[str, Any]:
    text = "; ".join(part for part in (d.message, d.label, d.help) if part)
    made: dict[str, Any] = {
        "ruleId": d.code,
        "ruleIndex": index[d.code],
        "level": _LEVELS[d.severity],
        "message": {"text": text},
        "locations": [_location(file, d.span)],
    }
    if d.related:
        made["relatedLocations"] = [{**_location(file, r.span), "message": {"text": r.message}} for r in d.related]
    return made


def _location(file: FileReport, span: Span | None) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": quote(file.name)}}
    if span is not None:
        place["region"] = {
            "startLine": span.line,
            "startColumn": span.column,
            "endLine": span.end_line,
            "endColumn": span.end_column,
        }
    return {"physicalLocation": place}
