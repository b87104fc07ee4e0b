"""End lines with LF. A CR that doubles another is left alone: it is no line end of any system."""

from __future__ import annotations

import re

from edgeinf.core.normalize.base import Rule

__all__ = ["RULE"]

_CRLF = re.compile(r"(?<!\r)\r\n")


def _apply(text: str) -> str:
    return _CRLF.sub("\n", text) if "\r" in text else text


RULE = Rule(name="line-ends", apply=_apply, changes_meaning=False)
