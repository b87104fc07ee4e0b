"""How fast a region is: a peak-sensitive average of its times, how often it fails, and the quantiles of late.

Peak EWMA after Finagle's load balancer: a slower sample counts at once, faster ones bring the average down, so that a
region that stalls is noticed on its first late answer; or before it, since a call that waits already is a measurement.
A peak that nothing confirms fades towards the median of the latest samples, or else a region that had one freak would
have to wait for a call that explores.
"""

from __future__ import annotations

import itertools
import math
from collections import deque

__all__ = ["Failures", "Latency"]

# How soon news grows old. Short, because a region that is avoided is measured by the few calls that explore: each of
# them has to count.
_TAU_S = 3.0
# A sample counts at least so much, so that under few calls the average still follows.
_MIN_WEIGHT = 0.05
_RECENT = 256
_LATEST = 15
_FAIL_WEIGHT = 0.2


class Latency:
    """The times to the first token (or to the whole answer) of one kind of call at one region, in seconds."""

    __slots__ = ("_median_s", "_recent", "_waiting", "at", "ewma_s")

    def __init__(self) -> None:
        self.ewma_s: float | None = None
        self.at = -math.inf
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._median_s: float | None = None  # of the latest, once somebody asks
        self._waiting: dict[object, float] = {}

    def observe(self, seconds: float, now: float) -> None:
        """Take one measurement."""
        self._recent.append(seconds)
        if self.ewma_s is None:
            self.ewma_s = seconds
        elif seconds > self.ewma_s:
            # A peak counts at once, but one freak does not count as if it were ten times worse than all before.
            self.ewma_s = min(seconds, 2 * self.ewma_s + 0.05)
        else:
            weight = max(_MIN_WEIGHT, 1.0 - math.exp(-(now - self.at) / _TAU_S))
            self.ewma_s += weight * (seconds - self.ewma_s)
        self.at = now
        self._median_s = None

    def set_out(self, call: object, now: float) -> None:
        """Take note that a call waits for its first token."""
        self._waiting[call] = now

    def settle(self, call: object) -> None:
        """The call waits no more."""
        self._waiting.pop(call, None)

    def expected_s(self, now: float) -> float | None:
        """Return what a call sent now may expect; None where nothing is known."""
        if self.ewma_s is None:
            return None
        expected_s, median_s = self.ewma_s, self._median()
        if expected_s > median_s:
            expected_s = median_s + (expected_s - median_s) * math.exp(-max(0.0, now - self.at) / _TAU_S)
        if self._waiting:
            oldest = next(iter(self._waiting.values()))
            expected_s = max(expected_s, now - oldest)
        return expected_s

    def _median(self) -> float:
        if self._median_s is None:
            latest = sorted(itertools.islice(reversed(self._recent), _LATEST))
            self._median_s = latest[len(latest) // 2]
        return self._median_s

    def quantile_s(self, q: float, *, at_least: int = 20) -> float | None:
        """Return a quantile of the latest measurements, None while there are too few."""
        if len(self._recent) < at_least:
            return None
        ordered = sorted(self._recent)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


class Failures:
    """How likely a call fails, and how long it took to find out.

    Without news the chance fades within a cooldown or two: a region that failed too little to be left out has no
    trial call to bring it back, so it must look worth a call again by then.
    """

    __slots__ = ("_at", "_ratio", "fade_s", "waste_s")

    def __init__(self, fade_s: float = 5.0) -> None:
        self.fade_s = fade_s
        self._ratio = 0.0
        self._at = -math.inf
        self.waste_s = 0.0

    def ratio(self, now: float) -> float:
        """Return the chance of failure, 0 to 1."""
        return self._ratio * math.exp(-max(0.0, now - self._at) / max(self.fade_s, 1e-9)) if self._ratio else 0.0

    def forget(self) -> None:
        """The region is back: what was before says nothing about it any more."""
        self._ratio = 0.0

    def observe(self, *, failed: bool, seconds: float, now: float) -> None:
        """Take one outcome, and the seconds it took."""
        if not failed and not self._ratio:
            return
        self._ratio = self.ratio(now)
        self._ratio += _FAIL_WEIGHT * ((1.0 if failed else 0.0) - self._ratio)
        if self._ratio < 1e-4:
            self._ratio = 0.0
        if failed:
            self.waste_s += 0.5 * (seconds - self.waste_s)
        self._at = now
