"""Compose Unicode: what a keyboard on one system types as two code points, another types as one."""

from __future__ import annotations

import unicodedata

from edgeinf.core.normalize.base import Rule

__all__ = ["RULE"]

# U+1FEF composes to a plain backtick, which would open a code fence where there was none.
_GREEK_VARIA = "\u1fef"


def _apply(text: str) -> str:
    if text.isascii() or _GREEK_VARIA in text or unicodedata.is_normalized("NFC", text):
        return text
    return unicodedata.normalize("NFC", text)


RULE = Rule(name="unicode-nfc", apply=_apply, changes_meaning=False)
