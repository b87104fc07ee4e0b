"""For people: each finding with the line it is about and a caret under what is wrong."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping

from edgeinf.core.config.diagnostic import Diagnostic, Span
from edgeinf.validate.report import FileReport, Report

__all__ = ["render"]

_MOST = 50  # findings of one file; beyond, their number is enough
_WIDTH = 160
_COLOURS = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "info": "\x1b[1;36m", "unknown": "\x1b[1;35m"}


class _Paint:
    def __init__(self, on: bool) -> None:
        self._on = on

    def __call__(self, text: str, code: str) -> str:
        return f"{code}{text}\x1b[0m" if self._on and text else text


def render(report: Report, *, colour: bool = False) -> str:
    """Return frames and a summary. Without colour the text is the same, only unpainted."""
    paint = _Paint(colour)
    blocks = [_block(file, d, paint) for file in report.files for d in file.diagnostics[:_MOST]]
    for file in report.files:
        if len(file.diagnostics) > _MOST:
            blocks.append(f"{file.name}: … and {len(file.diagnostics) - _MOST} more\n")
    return "\n".join([*blocks, _summary(report, paint)])


def _block(file: FileReport, d: Diagnostic, paint: _Paint) -> str:
    shade = _COLOURS[d.severity]
    where = f"{file.name}:{d.span.line}:{d.span.column}" if d.span else d.origin or file.name
    out = [f"{where}: {paint(f'{d.severity}[{d.code}]', shade)} {d.message}"]
    frame = _frame(file.lines, d.span, d.label, paint, shade) if d.span else []
    out += frame
    indent = " " * (len(str(d.span.line)) + 1) if frame and d.span else "  "
    if d.label and not frame:
        out.append(f"{indent}= {d.label}")
    for related in d.related:
        place = f": line {related.span.line}" if related.span and "line" not in related.message else ""
        out.append(f"{indent}= {related.message}{place}")
    if d.help:
        out.append(f"{indent}= {d.help}")
    out.append(f"{indent}= docs: {d.docs}")
    return "\n".join(out) + "\n"


def _frame(lines: Mapping[int, str], span: Span, label: str | None, paint: _Paint, shade: str) -> list[str]:
    line = lines.get(span.line)
    if line is None:
        return []
    end = span.end_column if span.end_line == span.line else len(line.rstrip()) + 1
    start, stop = span.column - 1, max(end - 1, span.column)
    cut = max(0, start - _WIDTH // 2) if len(line) > _WIDTH else 0
    shown = line[cut : cut + _WIDTH]
    start, stop = start - cut, min(stop - cut, max(len(shown), start - cut + 1))
    gap = " " * len(str(span.line))
    pad = "".join("\t" if c == "\t" else " " * _wide(c) for c in shown[:start]) + " " * max(0, start - len(shown))
    carets = "^" * (sum(_wide(c) for c in shown[start:stop]) or 1)
    marker = paint(f"{carets} {label}" if label else carets, shade)
    return [f"{gap} |", f"{span.line} | {shown}", f"{gap} | {pad}{marker}"]


def _wide(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _summary(report: Report, paint: _Paint) -> str:
    errors, warnings, unknown = (report.count(s) for s in ("error", "warning", "unknown"))
    what = ", ".join(
        f"{number} {word}{'' if number == 1 or word == 'unknown' else 's'}"
        for number, word in ((errors, "error"), (warnings, "warning"), (unknown, "unknown"))
        if number
    )
    names = report.files[0].name if len(report.files) == 1 else f"{len(report.files)} files"
    if not what:
        return paint(f"{names}: fine", "\x1b[1;32m") + "\n"
    return f"{names}: {what}\n"
