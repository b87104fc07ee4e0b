"""Do two answers contradict each other? Only by signs that are hard to argue with.

Two answers to one identical prompt share little text, so a difference in words means nothing. What counts: numbers and
dates, yes against no, a refusal against an answer, code against none, another JSON shape, another tool called.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

__all__ = ["conflict"]

_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?![\w])")
_YES = re.compile(r"\W*(?:yes|yeah|correct|true|sure|certainly|absolutely)\b", re.IGNORECASE)
_NO = re.compile(r"\W*(?:no|nope|incorrect|false|not really)\b", re.IGNORECASE)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able)|i (?:cannot|can't|won't) |as an ai\b|against (?:my|our) polic)",
    re.IGNORECASE,
)
_CODE = "```"


def conflict(a: str, b: str) -> str | None:
    """Return which sign tells two answers apart, or None where none does."""
    if a == b:
        return None
    if bool(_REFUSAL.search(a)) != bool(_REFUSAL.search(b)):
        return "refusal"
    x, y = _json(a), _json(b)
    if x is not None or y is not None:
        return _json_conflict(x, y)
    if (_YES.match(a) and _NO.match(b)) or (_NO.match(a) and _YES.match(b)):
        return "yes against no"
    if (_CODE in a) != (_CODE in b):
        return "code"
    if _numbers(a) != _numbers(b):
        return "numbers"
    return None


def _numbers(text: str) -> set[str]:
    """Return the numbers of a text, dates and prices included, in one form."""
    return {n.replace(",", "").lstrip("+").rstrip(".") for n in _NUMBER.findall(text)}


def _json(text: str) -> Any:
    bare = text.strip()
    if bare[:1] not in ("{", "["):
        return None
    try:
        return msgspec.json.decode(bare)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None


def _json_conflict(a: Any, b: Any) -> str | None:
    if a is None or b is None or _shape(a) != _shape(b):
        return "JSON shape"
    return "JSON values" if _leaves(a) != _leaves(b) else None


def _shape(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _shape(inner) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        return [_shape(value[0])] if value else []
    return type(value).__name__ if not isinstance(value, int | float) or isinstance(value, bool) else "number"


def _leaves(value: Any) -> list[str]:
    """Return the values that are no prose: numbers, truths, names of tools, short words."""
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in _leaves(value[key])]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner)]
    if isinstance(value, str):
        return [value.strip().lower()] if len(value.split()) <= 2 else []
    return [str(value)]
