"""Find Markdown code fences, inside which no rule may change a character.

CommonMark 0.31 section 4.5: a line of at most three spaces and at least three backticks or tildes opens; a line of
at least as many of the same character, and nothing else, closes; an unclosed fence runs to the end. A fence inside
a quote or a list item may be indented further or follow a marker, so any indentation and such markers count too.
"""

from __future__ import annotations

import re

__all__ = ["may_hold", "split", "split_from"]

_OPENING = re.compile(r"[ \t>*+-]*(?:\d{1,9}[.)][ \t]+)?(`{3,}(?=[^`]*$)|~{3,})")
_LINES = re.compile(r"[^\n]*\n|[^\n]+\Z")


def may_hold(text: str) -> bool:
    """Return whether the text can hold a fence at all; cheap."""
    return ("`" in text and "```" in text) or ("~" in text and "~~~" in text)  # one character is found far faster


def split(text: str) -> list[tuple[bool, str]]:
    """Return (is code, piece) pairs that join to ``text``; fence lines belong to the code."""
    return split_from(text, "")[0]


def split_from(text: str, fence: str) -> tuple[list[tuple[bool, str]], str]:
    """Split a text that begins inside ``fence`` (empty: outside); return the pieces and the fence open at the end."""
    if not fence and not may_hold(text):
        return [(False, text)], ""
    pieces: list[tuple[bool, str]] = []
    gathered: list[str] = []
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
    return pieces or [(bool(fence), "")], fence


def _closes(line: str, fence: str) -> bool:
    bare = line.strip(" \t\r\n>")
    return len(bare) >= len(fence) and not bare.strip(fence[0])
