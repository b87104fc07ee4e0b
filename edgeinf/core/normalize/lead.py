"""Drop white space before a message of one line, where it cannot be indentation."""

from __future__ import annotations

from edgeinf.core.normalize.base import Rule

__all__ = ["RULE"]


def _apply(text: str) -> str:
    if not text[:1].isspace() or "\n" in text:
        return text
    return text.lstrip() or text


RULE = Rule(name="lead", apply=_apply, changes_meaning=True)
