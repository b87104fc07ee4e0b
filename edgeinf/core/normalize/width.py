"""Unify full-width and half-width forms: ``ＡＢＣ？`` is ``ABC?``. Not NFKC, which makes ``25`` of ``2⁵``."""

from __future__ import annotations

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.folding import WIDTH, folder

__all__ = ["RULE"]


_fold = folder(WIDTH)


def _apply(text: str) -> str:
    if text.isascii():
        return text
    folded = _fold(text)
    return text if folded == text else spans.restored(text, folded)


RULE = Rule(name="width", apply=_apply, changes_meaning=True)
