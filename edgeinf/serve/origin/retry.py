"""Whether another try is right: which causes, how many, how soon."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from edgeinf.core.wire.headers import get

__all__ = ["Budget", "backoff_s", "retry_after_s", "retryable"]

# An origin that asks for more is asked again after this long: a mistaken header must not close a region for days.
_MAX_RETRY_AFTER_S = 3600.0
_WINDOW_S = 10.0


def retryable(cause: str, retry_on: Sequence[str]) -> bool:
    """Return whether a failure's cause (``connect``, ``timeout``, ``bad-answer`` or a status) is among ``retry_on``."""
    if cause in retry_on:
        return True
    return len(cause) == 3 and cause.isdigit() and f"{cause[0]}xx" in retry_on


def retry_after_s(headers: Iterable[tuple[bytes, bytes]], now: float) -> float | None:
    """Return how long an origin asks to be left alone, None if it does not say.

    ``retry-after-ms`` in milliseconds, ``retry-after`` in seconds or as an HTTP date (RFC 9110 section 10.2.3);
    ``now`` is the wall clock. What means nothing counts as unsaid.
    """
    headers = list(headers)
    exact = _number(get(headers, b"retry-after-ms"))
    if exact is not None:
        return min(exact / 1000, _MAX_RETRY_AFTER_S)
    value = get(headers, b"retry-after")
    seconds = _number(value)
    if seconds is None and value is not None:
        try:
            date = parsedate_to_datetime(value.decode("latin-1"))
        except ValueError:
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        seconds = max(0.0, date.timestamp() - datetime.fromtimestamp(now, UTC).timestamp())
    return None if seconds is None else min(seconds, _MAX_RETRY_AFTER_S)


def _number(value: bytes | None) -> float | None:
    try:
        number = float(value or b"")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def backoff_s(attempt: int, draw: float) -> float:
    """Return how long to wait before the same region is tried again; ``draw`` is uniform in 0 to 1."""
    return float(min(1.0, 0.1 * 2 ** max(0, attempt - 1))) * (0.5 + 0.5 * draw)


class Budget:
    """Extra tries as a share of the calls of the last seconds, so that retries cannot multiply an outage.

    A few per second are always allowed: a share of little traffic would be none.
    """

    def __init__(self, share: float, *, floor_per_s: float = 1.0) -> None:
        self.share = share
        self._floor = floor_per_s * _WINDOW_S
        self._start = -math.inf
        self._calls = [0, 0]  # in the running and in the previous window
        self._extras = [0, 0]
        self.denied = 0

    def count(self, now: float) -> None:
        """Take note of a call."""
        self._roll(now)
        self._calls[0] += 1

    def spend(self, now: float) -> bool:
        """Take one extra try if there is one left."""
        self._roll(now)
        # The previous window counts by how much of it is within the last ten seconds.
        left = max(0.0, 1.0 - (now - self._start) / _WINDOW_S)
        calls = self._calls[0] + left * self._calls[1]
        extras = self._extras[0] + left * self._extras[1]
        if extras + 1 > self.share * calls + (self._floor if self.share > 0 else 0.0):
            self.denied += 1
            return False
        self._extras[0] += 1
        return True

    def _roll(self, now: float) -> None:
        passed = now - self._start
        if passed >= _WINDOW_S:
            recent = passed < 2 * _WINDOW_S
            self._calls = [0, self._calls[0] if recent else 0]
            self._extras = [0, self._extras[0] if recent else 0]
            self._start = self._start + _WINDOW_S if recent else now
