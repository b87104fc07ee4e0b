"""Unify typographic quotes, dashes and no-break spaces with what a keyboard types."""

from __future__ import annotations

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.folding import TYPOGRAPHY, folder, holder

__all__ = ["RULE"]


_holds = holder(TYPOGRAPHY)
_fold = folder(TYPOGRAPHY)


def _apply(text: str) -> str:
    return spans.restored(text, _fold(text)) if not text.isascii() and _holds(text) else text


RULE = Rule(name="typography", apply=_apply, changes_meaning=True)
