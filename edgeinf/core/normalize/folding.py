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
INVISIBLE = "\u200b\u2060\ufeff\u00ad"
JOINERS = "\u200c\u200d"


def holder(table: Iterable[int]) -> Callable[[str], bool]:
    """Return a function that says whether a text holds a character of the table."""
    search = _any_of(table).search
    return lambda text: search(text) is not None


def folder(table: dict[int, int]) -> Callable[[str], str]:
    """Return a function that replaces the table's characters; faster than ``str.translate`` where they are few."""
    replaced = {chr(point): chr(target) for point, target in table.items()}
    sub = _any_of(table).sub
    return lambda text: sub(lambda found: replaced[found.group()], text)


def _any_of(table: Iterable[int]) -> re.Pattern[str]:
    return re.compile(f"[{''.join(map(re.escape, map(chr, sorted(table))))}]")
