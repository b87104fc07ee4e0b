"""Find Markdown code fences, inside which no rule may change a character.

CommonMark 0.31 section 4.5: a line of at most three spaces and at least three backticks or tildes opens; a line of
at least as many of the same character, and nothing else, closes; an unclosed fence runs to the end. A fence inside
a quote or a list item may be indented further or follow a marker, so any indentation and such markers count too.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["outside", "split"]

_OPENING = re.compile(r"[ \t>*+-]*(?:\d{1,9}[.)][ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_LINES = re.compile(r"[^\n]*\n|[^\n]+\Z")


def split(text: str) -> list[tuple[bool, str]]:
    """Return (is code, piece) pairs that join to ``text``; fence lines belong to the code."""
    if "```" not in text and "~~~" not in text:
        return [(False, text)]
    pieces: list[tuple[bool, str]] = []
    gathered: list[str] = []
    fence = ""
    for line in _LINES.findall(text):
        if fence:
            gathered.append(line)
            if _closes(line, fence):
                pieces.append((True, "".join(gathered)))
                gathered, fence = [], ""
            continue
        found = _OPENING.match(line.rstrip("\r\n"))
        if found:
            if gathered:
                pieces.append((False, "".join(gathered)))
            gathered, fence = [line], found.group(1)
        else:
            gathered.append(line)
    if gathered:
        pieces.append((bool(fence), "".join(gathered)))
    return pieces


def _closes(line: str, fence: str) -> bool:
    bare = line.strip(" \t\r\n>")
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def outside(text: str, change: Callable[[str], str]) -> str:
    """Apply ``change`` to what lies outside code fences."""
    if "```" not in text and "~~~" not in text:
        return change(text)
    return "".join(piece if code else change(piece) for code, piece in split(text))
