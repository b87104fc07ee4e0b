"""Drop ``. ! ? …`` at the end of a message, where they only close a sentence.

They stay where they may mean something: after a space or a symbol (``what is the meaning of ?``), an exclamation mark
after a number or single letter (``5!`` is 120), and at the end of a URL, path or formula.
"""

from __future__ import annotations

import re

from edgeinf.core.normalize.base import Rule

__all__ = ["RULE"]

_MARKS = ".!?…"
_FACTORIAL = re.compile(r"(?:^|[^\w'])(?:\d[\d.,]*|\w)$")


def _apply(text: str) -> str:
    if text[-1:] not in _MARKS:
        return text
    bare = text.rstrip(_MARKS)
    if not bare or not (bare[-1].isalnum() or bare[-1] in "\"')]`%"):
        return text
    word = bare[-64:].rsplit(None, 1)[-1]
    if "/" in word or "\\" in word:
        return text
    if "!" in text[len(bare) :] and (bare[-1] == ")" or _FACTORIAL.search(bare[-64:])):
        return text
    return bare


RULE = Rule(name="closing", apply=_apply, changes_meaning=True)
