"""Collapse runs of white space to one space, unless a line is indented: there white space may be a program's meaning.

A text of several lines with tabs inside a line is a table, whose empty cells are runs as well; it stays too. At the
two ends of a piece a run that holds a line end becomes one line end, so that a code fence beside it stays a fence.
"""

from __future__ import annotations

import re

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule

__all__ = ["RULE"]

_OTHER = ("\n", "\t", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f")
_RUN = re.compile(r"\s+")
_LAID_OUT = re.compile(r"^[^\S\n]+\S|\S[^\S\n]*\t[^\S\n]*\S", re.MULTILINE)


def _apply(text: str) -> str:
    if "  " not in text and text.isascii() and (text.isprintable() or not any(map(text.__contains__, _OTHER))):
        return text
    core = text.strip()
    joined = " ".join(core.split())
    if joined == core:  # nothing to collapse; far cheaper than to look for runs
        start = text.index(core)
        return _edge(text[:start]) + core + _edge(text[start + len(core) :]) if core else text
    if "\n" in core and (_may_be_laid_out(text) and _LAID_OUT.search(text)):
        return text
    start = text.index(core[0])
    head, tail = text[:start], text[start + len(core) :]
    body = spans.outside(core, lambda part: _RUN.sub(" ", part)) if spans.protected(core) else joined
    return _edge(head) + body + _edge(tail)


def _may_be_laid_out(text: str) -> bool:
    """Return False only where no line can be indented and no tab can part cells; cheap."""
    return not text.isascii() or text[:1].isspace() or "\n " in text or any(map(text.__contains__, _OTHER[1:]))


def _edge(run: str) -> str:
    return "\n" if "\n" in run else run and " "


RULE = Rule(name="spaces", apply=_apply, changes_meaning=True)
