"""What a plain scalar means: the core schema of YAML 1.2, and the spellings that other readers take differently."""

from __future__ import annotations

import re

__all__ = ["is_null", "resolve", "trap"]

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"true", "True", "TRUE"})
_FALSE = frozenset({"false", "False", "FALSE"})
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MAX_DIGITS = 300  # longer runs stay text: no number of a config is that long, and reading them is quadratic

_OLD_BOOLEANS = frozenset(["yes", "Yes", "YES", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF"])
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_OLD_OCTAL = re.compile(r"[-+]?0[0-7_]+")
_UNDERSCORED = re.compile(r"[-+]?[0-9][0-9_]*_[0-9_]*")


def is_null(text: str) -> bool:
    """Return whether a plain scalar is null."""
    return text in _NULL


def resolve(text: str) -> str | int | float | bool | None:
    """Return the value of a plain scalar by the core schema of YAML 1.2."""
    if text in _NULL:
        return None
    first = text[0]
    if first in "tTfF":
        return True if text in _TRUE else False if text in _FALSE else text
    if not (first.isdigit() or first in "+-.") or len(text) > _MAX_DIGITS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text[2:], 8 if text[1] == "o" else 16)
    if _FLOAT.fullmatch(text):
        return float(text)
    return float(text.replace(".", "", 1)) if _SPECIAL.fullmatch(text) else text


def trap(text: str) -> str | None:
    """Say how a YAML 1.1 reader would take a plain scalar, where that is not what it means here."""
    if text in _OLD_BOOLEANS:
        return "true" if text.lower() in ("yes", "on") else "false"
    if not text[:1].isdigit() and text[:1] not in "+-":
        return None
    if _OLD_OCTAL.fullmatch(text) and "8" not in text and "9" not in text:
        return f"the octal number {int(text.replace('_', ''), 8)}"
    if _UNDERSCORED.fullmatch(text):
        return f"the number {text.replace('_', '')}"
    return "a number to the base of 60" if _SEXAGESIMAL.fullmatch(text) else None
