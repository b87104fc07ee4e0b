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
_INDENTED = re.compile(r"\n[^\S\n]+\S")
_TABLE = re.compile(r"\S[^\S\n]*\t[^\S\n]*\S")


def _apply(text: str) -> str:
    core = text.strip()
    if not core:
        return text
    if len(core) == len(text):
        head = tail = ""
    else:
        start = text.index(core)
        head, tail = _edge(text[:start]), _edge(text[start + len(core) :])
    if _plain(core):
        return head + core + tail
    if "\n" in core and _laid_out(text):
        return text
    return head + spans.outside(core, _collapsed) + tail


def _laid_out(text: str) -> bool:
    """Return whether a line is indented or a table's: the line breaks of such a text are part of it."""
    return _INDENTED.search("\n" + text) is not None or ("\t" in text and _TABLE.search(text) is not None)


def _collapsed(part: str) -> str:
    words = part.split()
    if not words:
        return part and " "
    return (" " if part[0].isspace() else "") + " ".join(words) + (" " if part[-1].isspace() else "")


def _plain(core: str) -> bool:
    """Return whether there is nothing to collapse; far cheaper than to look for runs."""
    if not core.isascii():
        return " ".join(core.split()) == core
    return "  " not in core and (core.isprintable() or not any(map(core.__contains__, _OTHER)))


def _edge(run: str) -> str:
    return "\n" if "\n" in run else run and " "


RULE = Rule(name="spaces", apply=_apply, changes_meaning=True)
