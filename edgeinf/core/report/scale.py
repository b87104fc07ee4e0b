"""Where a value lies on an axis, and which round values deserve a tick."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Scale", "scale_for"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """A range of values on an axis, linear or logarithmic."""

    low: float
    high: float
    log: bool

    def share(self, value: float) -> float:
        """Return where ``value`` lies between the ends, 0 to 1; what is outside is at the nearer end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            return math.log10(value / self.low) / math.log10(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, about: int = 5) -> list[float]:
        """Return about that many round values inside the range."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            step = max(1, (last - first) // about)
            return [10.0**e for e in range(first, last + 1, step)]
        raw = (self.high - self.low) / about
        base = 10.0 ** math.floor(math.log10(raw))
        step_size = base * next(m for m in (1, 2, 2.5, 5, 10) if m * base >= raw * 0.999)
        first = math.ceil(self.low / step_size - 1e-9)
        last = math.floor(self.high / step_size + 1e-9)
        return [round(i * step_size, 12) for i in range(first, last + 1)]


def scale_for(values: Iterable[float], *, log: bool = False, from_zero: bool = False) -> Scale:
    """Return a scale that holds all values; a logarithmic one leaves out what is not above zero."""
    held = [v for v in values if math.isfinite(v) and (v > 0 or not log)]
    if not held:
        return Scale(low=1.0 if log else 0.0, high=10.0 if log else 1.0, log=log)
    low, high = min(held), max(held)
    if log:
        return Scale(low=low, high=high if high > low else low * 10, log=True)
    low = min(low, 0.0) if from_zero else low
    least = max(1e-9 * max(abs(low), abs(high)), 1e-9)  # a narrower range has no ticks that can be told apart
    return Scale(low=low, high=high if high - low >= least else low + max(abs(low), least), log=False)
