"""Money per period. Periods are counted from the epoch, so that every process and host agrees when one ends:
a budget of 24h begins anew at midnight UTC."""

from __future__ import annotations

import msgspec

__all__ = ["Purse", "ends_in_s", "fits", "period_of", "turned"]


class Purse(msgspec.Struct):
    """What was spent, or is reserved, in one period."""

    period: int
    spent: float = 0.0


def period_of(now: float, period_s: float) -> int:
    """Return the number of the period that holds ``now`` (seconds since the epoch)."""
    return int(now // period_s)


def ends_in_s(now: float, period_s: float) -> float:
    """Return when the present period ends."""
    return (period_of(now, period_s) + 1) * period_s - now


def turned(purse: Purse | None, now: float, period_s: float) -> Purse:
    """Return the purse of the present period: the one given if it is, else an empty one."""
    period = period_of(now, period_s)
    return purse if purse is not None and purse.period == period else Purse(period)


def fits(purse: Purse, cost: float, capacity: float) -> bool:
    """Return whether a cost fits. A call whose price is unknown costs 0, and passes while anything is left."""
    return purse.spent + cost <= capacity * (1 + 1e-9) and purse.spent < capacity
