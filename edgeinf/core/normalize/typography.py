"""Unify typographic quotes, dashes and no-break spaces with what a keyboard types."""

from __future__ import annotations

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.folding import TYPOGRAPHY

__all__ = ["RULE"]


def _apply(text: str) -> str:
    if text.isascii():
        return text
    return spans.outside(text, lambda part: part.translate(TYPOGRAPHY))


RULE = Rule(name="typography", apply=_apply, changes_meaning=True)
