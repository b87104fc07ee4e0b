"""Instants as logs write them: seconds, milliseconds or nanoseconds since the epoch, or ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

__all__ = ["instant", "seconds_between"]

_NEVER = 2.5e20  # nanoseconds in the year 9892; what is no number is not below it either
_LONG_FRACTION = re.compile(r"(\.\d{6})\d+")


def instant(value: Any) -> float | None:
    """Return seconds since the epoch; a time without zone is UTC. None where the value is no time.

    A number's size tells its unit: no log is from after the year 5138, where seconds reach 1e11.
    """
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    size = abs(value)
    if size < 1e11:
        return float(value)
    if not size < _NEVER:
        return None
    return value / 1e3 if size < 1e14 else value / 1e6 if size < 1e17 else value / 1e9


def _text(value: str) -> float | None:
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        shortened = _LONG_FRACTION.sub(r"\1", value.strip())
        try:
            at = datetime.fromisoformat(shortened)
        except ValueError:
            try:
                return instant(float(value))
            except ValueError:
                return None
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).timestamp()


def seconds_between(start: Any, end: Any) -> float | None:
    """Return the seconds from one written instant to another, or None where either is missing or they run back."""
    first, last = instant(start), instant(end)
    if first is None or last is None or last < first:
        return None
    return round(last - first, 6)
