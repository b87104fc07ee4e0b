"""The generic cell rate algorithm: a token bucket kept as one number.

A counter is its theoretical arrival time (TAT): when it would be empty again. A cost moves it forward by
``cost * period / capacity``; it fits while the TAT is at most one period ahead, so a whole capacity may come at once
and flows back evenly. ITU-T I.371, and Brandur Leach's notes on it for APIs.
"""

from __future__ import annotations

__all__ = ["give_back", "reset_s", "step", "used"]

# Sums of fractions of a period are not exact in floating point; without this a capacity of 7 would let 6 through.
_TOLERANCE = 1e-6


def step(tat: float, now: float, cost: float, capacity: float, period_s: float) -> tuple[float, float, float, float]:
    """Return the TAT after a cost, in how many seconds the cost fits (0: now), and :func:`used` and :func:`reset_s`
    of that TAT."""
    ahead = (tat - now if tat > now else 0.0) + cost * period_s / capacity
    over = ahead - period_s
    return now + ahead, over if over > period_s * _TOLERANCE else 0.0, ahead / period_s * capacity, ahead


def give_back(tat: float, correction: float, capacity: float, period_s: float) -> float:
    """Return the TAT after a cost turned out larger (positive) or smaller (negative) than was taken."""
    return tat + correction * period_s / capacity


def used(tat: float, now: float, capacity: float, period_s: float) -> float:
    """Return how much of the capacity is used."""
    return max(0.0, tat - now) / period_s * capacity


def reset_s(tat: float, now: float) -> float:
    """Return in how many seconds the whole capacity is free."""
    return max(0.0, tat - now)
