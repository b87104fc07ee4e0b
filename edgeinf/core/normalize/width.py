"""Unify full-width and half-width forms: ``ＡＢＣ？`` is ``ABC?``. Not NFKC, which makes ``25`` of ``2⁵``."""

from __future__ import annotations

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.folding import WIDTH, folder, holder

__all__ = ["RULE"]


_holds = holder(WIDTH)
_fold = folder(WIDTH)


def _apply(text: str) -> str:
    return spans.restored(text, _fold(text)) if not text.isascii() and _holds(text) else text


RULE = Rule(name="width", apply=_apply, changes_meaning=True)
