"""Collapse runs of white space to one space, unless a line is indented: there white space may be a program's meaning.

A text of several lines with tabs inside a line is a table, whose empty cells are runs as well; it stays too. At the
two ends of a piece a run that holds a line end becomes one line end, so that a code fence beside it stays a fence.
"""

from __future__ import annotations

import re

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule

__all__ = ["RULE"]

# White space other than a space, for ``str.split``; all of it, and what is ASCII.
_OTHER = "\n\t\r\x0b\x0c\x1c\x1d\x1e\x1f"
_ANY_OTHER = _OTHER + "\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
_INDENTED = re.compile(r"\n[^\S\n]+\S")
_TABLE = re.compile(r"\S[^\S\n]*\t[^\S\n]*\S")


def _apply(text: str) -> str:
    core = text.strip()
    if not core:
        return text
    if len(core) == len(text):
        head = tail = ""
    else:
        start = len(text) - len(text.lstrip())
        head, tail = _edge(text[:start]), _edge(text[start + len(core) :])
    others = _others(core)
    if not others and "  " not in core:
        return head + core + tail
    if "\n" in core and _laid_out(text):
        return text
    held = "|".join(spans.parted(text)[1::2])
    if "  " in held or _others(held):
        return head + spans.outside(core, lambda part: _collapsed(part, others)) + tail
    return head + _collapsed(core, others) + tail


def _laid_out(text: str) -> bool:
    """Return whether a line is indented or a table's: the line breaks of such a text are part of it."""
    return _INDENTED.search("\n" + text) is not None or ("\t" in text and _TABLE.search(text) is not None)


def _others(text: str) -> list[str]:
    """Return which kinds of white space a text holds besides the space."""
    return [white for white in (_OTHER if text.isascii() else _ANY_OTHER) if white in text]


def _collapsed(part: str, others: list[str]) -> str:
    """Return a text with each run as one space; several times faster than to split it into words."""
    for white in others:
        part = part.replace(white, " ")
    first, *rest = part.split("  ")
    if not rest:
        return part
    words = [bare for bare in (each.lstrip(" ") for each in rest[:-1]) if bare]
    return " ".join((first, *words, rest[-1].lstrip(" ")))


def _edge(run: str) -> str:
    return "\n" if "\n" in run else run and " "


RULE = Rule(name="spaces", apply=_apply, changes_meaning=True)
