"""Drop characters that nobody sees: zero-width space, word joiner, byte-order mark, soft hyphen.

The zero-width joiner and non-joiner are letters' business in Arabic, Persian, Indic scripts and emoji; they go only
between ASCII characters, where they cannot join anything. Beside a backtick or tilde nothing is dropped, so that
no code fence appears.
"""

from __future__ import annotations

import re

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.folding import INVISIBLE, JOINERS

__all__ = ["RULE"]

_DROPPED = re.compile(
    f"(?<![`~{INVISIBLE}])[{INVISIBLE}]+(?![`~{INVISIBLE}])"
    f"|(?<=[\x00-\x5f\x61-\x7d\x7f])[{JOINERS}]+(?=[\x00-\x5f\x61-\x7d\x7f])"
)


def _apply(text: str) -> str:
    if text.isascii():
        return text
    while any(map(text.__contains__, INVISIBLE + JOINERS)):
        # dropping one may bring another between its neighbours, so go on until nothing moves
        done = spans.outside(text, lambda part: _DROPPED.sub("", part))
        if done == text:
            break
        text = done
    return text


RULE = Rule(name="zero-width", apply=_apply, changes_meaning=True)
