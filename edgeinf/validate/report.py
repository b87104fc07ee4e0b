"""The findings about some files, as renderers get them: nothing in here shows a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from edgeinf.core.config.diagnostic import Diagnostic, KeyPath, Severity
from edgeinf.core.config.source import Source
from edgeinf.core.printable import printable
from edgeinf.core.redact import redact_in_place

__all__ = ["FileReport", "Report", "safe_lines"]

_SECRET_KEYS = ("api_key", "key_secret", "master_key", "token", "password")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReport:
    """One file: its findings by position, the lines they are about with credentials overwritten, its variables."""

    name: str
    diagnostics: tuple[Diagnostic, ...] = ()
    lines: Mapping[int, str] = field(default_factory=dict)
    variables: tuple[str, ...] = ()
    kind: str = "edgeinf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All files of one run."""

    files: tuple[FileReport, ...] = ()

    def count(self, severity: Severity) -> int:
        """Return how many findings have this severity."""
        return sum(d.severity == severity for file in self.files for d in file.diagnostics)


def safe_lines(source: Source, wanted: Set[int]) -> dict[int, str]:
    """Return lines by number with whatever is, or stands where, a credential overwritten; columns stay."""
    written = source.lines()
    lines = {n: list(redact_in_place(written[n - 1])) for n in wanted if n <= len(written)}
    for path, site in source.sites.items() if lines else ():
        value = site.value
        if not any(value.line <= n <= value.end_line for n in lines) or not _is_secret(path):
            continue
        refers = _refers(source, path, written[value.line - 1][value.column - 1 :])
        for number in range(value.line, value.end_line + 1):
            if number in lines:
                line = lines[number]
                start = value.column - 1 if number == value.line else 0
                end = value.end_column - 1 if number == value.end_line else len(line)
                shown = written[number - 1][start:end]
                line[start:end] = [c if refers or c.isspace() else "*" for c in shown]
    return {number: printable("".join(line)) for number, line in lines.items()}


def _is_secret(path: KeyPath) -> bool:
    names = [part.lower() for part in path if isinstance(part, str)]
    return bool(names) and (names[-1] in _SECRET_KEYS or ("headers" in names[:-1] and "auth" in names[-1]))


def _refers(source: Source, path: KeyPath, text: str) -> bool:
    """Return whether what stands there is only the name of a variable."""
    raw = source.raws.get(path)
    if raw is not None and raw.text.startswith("${") and raw.text.endswith("}"):
        return ":-" not in raw.text
    return re.match(r"""["']?os\.environ/\w+["']?\s*(?:[,}#]|$)""", text) is not None
