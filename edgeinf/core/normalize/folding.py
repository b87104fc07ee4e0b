"""Characters that stand for one another, as tables of one character to one.

``WIDTH`` brings full-width and half-width forms to the usual width (Unicode's ``<wide>`` and ``<narrow>``
decompositions, U+FF01 to U+FFEE). ``TYPOGRAPHY`` brings curly quotes, dashes and no-break spaces to what a keyboard
types. Backtick and tilde are never made: they would open a code fence where there was none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

__all__ = ["INVISIBLE", "JOINERS", "PAIRED_QUOTES", "QUOTES", "TYPOGRAPHY", "VIEW", "WIDTH", "folder", "holder"]


def _width() -> dict[int, int]:
    table = {}
    for point in (0x3000, *range(0xFF01, 0xFFEF)):
        kind, _, target = unicodedata.decomposition(chr(point)).partition(" ")
        if kind in ("<wide>", "<narrow>") and chr(int(target, 16)) not in "`~":
            table[point] = int(target, 16)
    return table


WIDTH: dict[int, int] = _width()
QUOTES: dict[int, int] = {
    **dict.fromkeys(map(ord, "“”„‟"), ord('"')),
    **dict.fromkeys(map(ord, "‘’‚‛"), ord("'")),
}
# Quotes that open or close; ``’`` alone is an apostrophe far more often.
PAIRED_QUOTES: dict[int, int] = {point: target for point, target in QUOTES.items() if chr(point) != "’"}
TYPOGRAPHY: dict[int, int] = {
    **QUOTES,
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), ord("-")),
    **dict.fromkeys((0xA0, 0x2007, 0x202F), ord(" ")),
}
VIEW: dict[int, int] = {**WIDTH, **TYPOGRAPHY}
_WIDE = "\uff00"
INVISIBLE = "\u200b\u2060\ufeff\u00ad"
JOINERS = "\u200c\u200d"


def holder(points: Iterable[int]) -> Callable[[str], bool]:
    """Return a function that says whether a text holds one of the characters."""
    few, wide = _parted(points)
    search = _any_of(wide).search if wide else None

    def holds(text: str) -> bool:
        return any(map(text.__contains__, few)) or (
            search is not None and _may_be_wide(text) and search(text) is not None
        )

    return holds


def folder(table: dict[int, int]) -> Callable[[str], str]:
    """Return a function that replaces the table's characters; several times faster than ``str.translate``.

    What a character is replaced by is none of the table's.
    """
    few, wide = _parted(table)
    pairs = [(char, chr(table[ord(char)])) for char in few]
    findall = _any_of(wide).findall if wide else None

    def fold(text: str) -> str:
        for char, target in pairs:
            if char in text:
                text = text.replace(char, target)
        if findall is not None and _may_be_wide(text):
            for char in set(findall(text)):  # a text holds many of them, but few kinds
                text = text.replace(char, chr(table[ord(char)]))
        return text

    return fold


def _parted(points: Iterable[int]) -> tuple[str, str]:
    """Return the characters to look for one by one, and those of the block of widths, too many for that."""
    chars = sorted(map(chr, points))
    return "".join(char for char in chars if char <= _WIDE), "".join(char for char in chars if char > _WIDE)


def _may_be_wide(text: str) -> bool:
    """Return whether a text may hold a character from U+FF00 on: one that does has this byte."""
    return b"\xff" in text.encode("utf-16-le", "surrogatepass")


def _any_of(chars: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(chars)}]")
