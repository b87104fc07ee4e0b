"""JUnit XML, which every CI system shows: a test per file that fails, or one that passes."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from edgeinf.core.config.diagnostic import Diagnostic
from edgeinf.validate.report import FileReport, Report

__all__ = ["render"]

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """Return a suite per file and a case per finding; warnings are cases that pass and say something."""
    suites = "".join(_suite(file) for file in report.files)
    tests = sum(max(1, len(file.diagnostics)) for file in report.files)
    head = f'<testsuites name="edgeinf validate" tests="{tests}" failures="{report.count("error")}">\n'
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + head + suites + "</testsuites>\n"


def _suite(file: FileReport) -> str:
    name = quoteattr(_clean(file.name))
    failures = sum(d.severity == "error" for d in file.diagnostics)
    cases = "".join(_case(file, d) for d in file.diagnostics) or f'    <testcase classname={name} name="valid"/>\n'
    tests = max(1, len(file.diagnostics))
    return f'  <testsuite name={name} tests="{tests}" failures="{failures}" errors="0">\n{cases}  </testsuite>\n'


def _case(file: FileReport, d: Diagnostic) -> str:
    where = f"{file.name}:{d.span.line}:{d.span.column}" if d.span else file.name
    text = _clean("\n".join(part for part in (f"{where}: {d.message}", d.label, d.help, d.docs) if part))
    head = f"    <testcase classname={quoteattr(_clean(file.name))} name={quoteattr(_clean(f'{d.code} {where}'))}>\n"
    if d.severity == "error":
        message = quoteattr(_clean(d.message))
        body = f'      <failure type="{d.code}" message={message}>{escape(text)}</failure>\n'
    else:
        body = f"      <system-out>{escape(f'{d.severity}: {text}')}</system-out>\n"
    return head + body + "    </testcase>\n"


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
