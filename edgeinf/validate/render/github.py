"""Annotations of GitHub Actions, and the summary of a step.

A step shows at most ten errors and ten warnings, so the rest is in the summary, which has them all.
Form: docs.github.com/actions/reference/workflow-commands-for-github-actions
"""

from __future__ import annotations

from edgeinf.core.config.diagnostic import Diagnostic
from edgeinf.validate.report import FileReport, Report

__all__ = ["render", "summary"]

_MOST = 10
_COMMANDS = {"error": "error", "warning": "warning", "info": "notice", "unknown": "notice"}


def render(report: Report) -> str:
    """Return one workflow command per finding, up to the number that is shown."""
    lines: list[str] = []
    left_out = 0
    used: dict[str, int] = {}
    for file in report.files:
        for d in file.diagnostics:
            command = _COMMANDS[d.severity]
            used[command] = used.get(command, 0) + 1
            if used[command] > _MOST:
                left_out += 1
            else:
                lines.append(_command(command, file, d))
    if left_out:
        lines.append(f"::notice::{left_out} more findings are in the summary of this step\n")
    return "".join(lines)


def _command(command: str, file: FileReport, d: Diagnostic) -> str:
    properties = {"file": file.name, "title": f"{d.code}"}
    if d.span:
        properties |= {"line": str(d.span.line), "col": str(d.span.column), "endLine": str(d.span.end_line)}
        if d.span.end_line == d.span.line:
            properties["endColumn"] = str(d.span.end_column)
    text = "; ".join(part for part in (d.message, d.label, d.help) if part)
    given = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{command} {given}::{_data(text)}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def summary(report: Report) -> str:
    """Return all findings as the Markdown table for ``$GITHUB_STEP_SUMMARY``."""
    rows = [
        f"| `{_cell(file.name)}{f':{d.span.line}' if d.span else ''}` | {d.severity} | [{d.code}]({d.docs}) "
        f"| {_cell('; '.join(part for part in (d.message, d.label) if part))} |\n"
        for file in report.files
        for d in file.diagnostics
    ]
    if not rows:
        return "### edgeinf validate\n\nNothing found.\n"
    return "### edgeinf validate\n\n| where | | code | what |\n|---|---|---|---|\n" + "".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("`", "'")
