"""What a limiter is, wherever its counters live: in this process, shared by a host's workers, or in Redis.

A call takes all of its charges at once or none of them, so a refused call consumes nothing. Later each charge is
settled with what was really used, whatever became of the call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

__all__ = ["Charge", "Kind", "Level", "Limiter", "Taken"]

Kind = Literal["requests", "tokens", "concurrency", "budget"]


class Charge(msgspec.Struct, frozen=True, kw_only=True):
    """What one call asks of one limit.

    ``capacity`` and ``cost`` are calls, tokens, calls at once, or USD; ``subject`` is whose counter it is, with no
    credential in it. ``period_s`` is 0 for concurrency. The counter's name is (limit, kind, subject).
    """

    limit: str
    kind: Kind
    subject: str
    capacity: float
    period_s: float
    cost: float


class Level(msgspec.Struct, frozen=True):
    """How full a counter is after a take: what is used, and in how many seconds it is empty again."""

    used: float
    reset_s: float


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a take: the levels in the order of the charges; ``refused`` is the charge that did not fit.

    ``retry_s`` is when it would fit, None if it never can (it is larger than the limit).
    """

    levels: tuple[Level, ...]
    refused: int | None = None
    retry_s: float | None = 0.0


class Limiter(Protocol):
    """Counts. ``call_id`` names the call, for limiters that lend slots for a time and must know whose they are."""

    async def take(self, call_id: str, charges: Sequence[Charge]) -> Taken:
        """Take every charge, or none of them where one does not fit. Atomic against every other caller."""
        ...

    def settle(self, call_id: str, charge: Charge, actual: float) -> None:
        """Replace what was taken by what was used; a slot is given back. Returns at once and does not fail."""
        ...

    def spare(self, charge: Charge) -> float:
        """Return the share of a counter, 0 to 1, that is free as far as this process knows."""
        ...

    async def aclose(self) -> None:
        """Settle what is pending and let go."""
        ...
