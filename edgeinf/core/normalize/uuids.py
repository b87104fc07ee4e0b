"""Mask UUIDs in their usual form (RFC 9562 section 4), but not inside a URL or path, where they name a thing."""

from __future__ import annotations

import re

from edgeinf.core.normalize.base import Rule

__all__ = ["MASK", "RULE"]

MASK = "\x1auuid\x1a"

_UUID = re.compile(
    r"(?<![0-9a-z/\\-])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?![0-9a-z/\\-])", re.IGNORECASE
)


def _apply(text: str) -> str:
    return _UUID.sub(MASK, text) if text.count("-") > 3 else text


RULE = Rule(name="uuids", apply=_apply, changes_meaning=True)
