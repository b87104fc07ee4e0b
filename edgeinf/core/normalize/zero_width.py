"""Drop characters that nobody sees: zero-width space, word joiner, byte-order mark, soft hyphen.

The zero-width joiner and non-joiner are letters' business in Arabic, Persian, Indic scripts and emoji; they go only
between ASCII characters, where they cannot join anything. Beside a backtick or tilde nothing is dropped, so that
no code fence appears.
"""

from __future__ import annotations

import re

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule

__all__ = ["RULE"]

_INVISIBLE = "\u200b\u2060\ufeff\u00ad"
_ANY = re.compile(f"[{_INVISIBLE}\u200c\u200d]")
_DROPPED = re.compile(
    f"(?<![`~{_INVISIBLE}])[{_INVISIBLE}]+(?![`~{_INVISIBLE}])"
    "|(?<=[\x00-\x5f\x61-\x7d\x7f])[\u200c\u200d]+(?=[\x00-\x5f\x61-\x7d\x7f])"
)


def _apply(text: str) -> str:
    if text.isascii():
        return text
    while _ANY.search(text):
        # dropping one may bring another between its neighbours, so go on until nothing moves
        done = spans.outside(text, lambda part: _DROPPED.sub("", part))
        if done == text:
            break
        text = done
    return text


RULE = Rule(name="zero-width", apply=_apply, changes_meaning=True)
