"""Unify typographic quotes, dashes and no-break spaces with what a keyboard types."""

from __future__ import annotations

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.folding import TYPOGRAPHY, folder

__all__ = ["RULE"]


_fold = folder(TYPOGRAPHY)


def _apply(text: str) -> str:
    if text.isascii():
        return text
    folded = _fold(text)
    return text if folded == text else spans.restored(text, folded)


RULE = Rule(name="typography", apply=_apply, changes_meaning=True)
