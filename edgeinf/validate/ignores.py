"""Comments that silence a warning where it is: ``# edgeinf: ignore[W301]``, on its line or alone on the line above."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from edgeinf.core.config.diagnostic import Diagnostic

__all__ = ["select", "silenced"]

_COMMENT = re.compile(r"#\s*edgeinf:\s*ignore(?:\[([A-Z0-9,\s]*)\])?")


def silenced(lines: Sequence[str]) -> dict[int, frozenset[str]]:
    """Return the codes that are silenced by line (from 1); an empty set stands for all of them."""
    found: dict[int, frozenset[str]] = {}
    for number, line in enumerate(lines, 1):
        if "edgeinf:" in line and (match := _COMMENT.search(line)) is not None:
            codes = frozenset(re.findall(r"[A-Z]+[0-9]+", match[1] or ""))
            alone = line[: match.start()].strip() == ""
            found[number + 1 if alone else number] = codes
    return found


def select(
    diagnostics: Iterable[Diagnostic],
    lines: Sequence[str],
    *,
    only: Sequence[str] = (),
    ignored: Sequence[str] = (),
) -> Iterator[Diagnostic]:
    """Yield what is left: errors always, the rest unless silenced. Codes may be cut short: ``W3`` is all of them."""
    by_line = silenced(lines)
    for diagnostic in diagnostics:
        if diagnostic.severity == "error":
            yield diagnostic
            continue
        if only and not diagnostic.code.startswith(tuple(only)):
            continue
        if ignored and diagnostic.code.startswith(tuple(ignored)):
            continue
        here = by_line.get(diagnostic.span.line) if diagnostic.span is not None else None
        if here is None or (here and diagnostic.code not in here):
            yield diagnostic
