"""Leave alone for a while what failed, longer each time, and say so once."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

__all__ = ["Patience"]

_log = logging.getLogger("edgeinf.context")


class Patience:
    """Whether something may be tried again; ``failing`` and ``again`` are what is said when it fails and works."""

    def __init__(
        self, failing: str, again: str, *, first_s: float, most_s: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._failing, self._again = failing, again
        self._first_s, self._most_s, self._now = first_s, most_s, now
        self._failures = 0
        self._until = 0.0

    def resting(self) -> bool:
        """Return whether it is to be left alone now."""
        return self._failures > 0 and self._now() < self._until

    def failed(self, why: object) -> None:
        """It failed: rest, and say so where it is the first time since it worked."""
        if self._failures == 0:
            _log.warning("%s: %s", self._failing, why)
        self._until = self._now() + min(self._most_s, self._first_s * 2 ** min(self._failures, 16))
        self._failures += 1

    def worked(self) -> None:
        """It worked."""
        if self._failures:
            _log.warning("%s", self._again)
        self._failures = 0
