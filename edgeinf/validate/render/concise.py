"""One line per finding, for editors and grep."""

from __future__ import annotations

from edgeinf.validate.report import Report

__all__ = ["render"]


def render(report: Report) -> str:
    """Return ``file:line:column: severity[code] message`` lines."""
    lines = []
    for file in report.files:
        for d in file.diagnostics:
            place = f"{file.name}:{d.span.line}:{d.span.column}" if d.span else f"{file.name}:1:1"
            origin = f" ({d.origin})" if d.origin else ""
            hint = f" ({d.label})" if d.label else ""
            lines.append(f"{place}: {d.severity}[{d.code}] {d.message}{hint}{origin}\n")
    return "".join(lines)
