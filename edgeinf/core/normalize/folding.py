"""Characters that stand for one another, as tables of one character to one.

``WIDTH`` brings full-width and half-width forms to the usual width (Unicode's ``<wide>`` and ``<narrow>``
decompositions, U+FF01 to U+FFEE). ``TYPOGRAPHY`` brings curly quotes, dashes and no-break spaces to what a keyboard
types. Backtick and tilde are never made: they would open a code fence where there was none.
"""

from __future__ import annotations

import unicodedata

__all__ = ["TYPOGRAPHY", "VIEW", "WIDTH"]


def _width() -> dict[int, int]:
    table = {}
    for point in (0x3000, *range(0xFF01, 0xFFEF)):
        kind, _, target = unicodedata.decomposition(chr(point)).partition(" ")
        if kind in ("<wide>", "<narrow>") and chr(int(target, 16)) not in "`~":
            table[point] = int(target, 16)
    return table


WIDTH: dict[int, int] = _width()
TYPOGRAPHY: dict[int, int] = {
    **dict.fromkeys(map(ord, "“”„‟"), ord('"')),
    **dict.fromkeys(map(ord, "‘’‚‛"), ord("'")),
    **dict.fromkeys(map(ord, "‐‑‒–—―−"), ord("-")),
    **dict.fromkeys((0xA0, 0x2007, 0x202F), ord(" ")),
}
VIEW: dict[int, int] = {**WIDTH, **TYPOGRAPHY}
