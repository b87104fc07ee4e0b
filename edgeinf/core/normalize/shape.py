"""The shape of ASCII text: ``a`` for a small letter, ``A`` for a capital, ``0`` for a digit, the rest as it is.

Searching a shape for fixed bytes finds digits and capitals several times faster than a pattern finds them.
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence

__all__ = ["digit_runs", "finds", "shape_of"]

_TABLE = bytes.maketrans((string.ascii_letters + string.digits).encode(), b"a" * 26 + b"A" * 26 + b"0" * 10)
_DIGITS = re.compile(r"[0-9][0-9]*")  # this form lets the engine skip to the first digit; [0-9]+ does not


def shape_of(text: str) -> bytes:
    """Return the shape of ASCII text, one byte for each character."""
    return text.encode().translate(_TABLE)


def finds(shape: bytes, patterns: Sequence[bytes]) -> list[int]:
    """Return where the patterns occur, in order."""
    found = []
    for pattern in patterns:
        at = shape.find(pattern)
        while at >= 0:
            found.append(at)
            at = shape.find(pattern, at + 1)
    return sorted(found)


def digit_runs(text: str) -> list[tuple[int, int]]:
    """Return where each run of ASCII digits starts and ends."""
    if not text.isascii():
        return [found.span() for found in _DIGITS.finditer(text)]
    shape = shape_of(text)
    runs = []
    start = shape.find(b"0")
    while start >= 0:
        end = start + 1
        while shape[end : end + 1] == b"0":
            end += 1
        runs.append((start, end))
        start = shape.find(b"0", end)
    return runs
