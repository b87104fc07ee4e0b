"""Drop leading blank lines and trailing white space at the two ends of a message.

White space here is ASCII's: a no-break or ideographic space was typed on purpose. Text of white space only stays
as it is, since an empty message is another question (and often an error).
"""

from __future__ import annotations

import re

__all__ = ["trim_end", "trim_start"]

_WHITE = " \t\r\n\x0b\x0c"
_BLANK_LINES = re.compile(r"(?:[ \t\r\x0b\x0c]*\n)+")


def trim_start(text: str) -> str:
    """Drop leading lines that hold only white space, keeping the first line's indentation."""
    if text[:1] not in _WHITE or not text.strip(_WHITE):
        return text
    found = _BLANK_LINES.match(text)
    return text[found.end() :] if found else text


def trim_end(text: str) -> str:
    """Drop trailing white space."""
    return text.rstrip(_WHITE) or text
