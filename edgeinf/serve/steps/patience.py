"""A bound in time that may be moved as often as one likes.

``asyncio.timeout`` arms a timer for every wait, and a stream waits for every piece. Here a bound that moves away moves
nothing else: the timer that runs looks, when it ends, how much is left.
"""

from __future__ import annotations

import asyncio
from types import TracebackType

__all__ = ["Patience"]

# Timers count whole milliseconds.
_TICK_S = 0.001


class Patience:
    """Cancels the task that entered it when the bound is reached; that task asks ``lapsed`` whose doing it was."""

    __slots__ = ("_armed", "_armed_for", "_cancelling", "_loop", "_spent", "_task", "_until")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def __enter__(self) -> Patience:
        task = asyncio.current_task(self._loop)
        assert task is not None
        self._task, self._cancelling = task, task.cancelling()
        self._armed: asyncio.TimerHandle | None = None
        self._armed_for = self._until = 0.0
        self._spent = False
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._armed is not None:
            self._armed.cancel()

    def until(self, when: float) -> None:
        """Set the bound, in the loop's time."""
        self._until = when
        if self._armed is None or when < self._armed_for:
            self._arm()

    def lapsed(self) -> bool:
        """Return whether the cancellation at hand is that of the bound, which is then over."""
        if not self._spent:
            return False
        self._spent = False
        return self._task.uncancel() <= self._cancelling

    def _arm(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
        self._armed_for = self._until
        self._armed = self._loop.call_at(self._until, self._look)

    def _look(self) -> None:
        self._armed = None
        if self._until - self._loop.time() > _TICK_S:
            self._arm()
        else:
            self._spent = True
            self._task.cancel()
