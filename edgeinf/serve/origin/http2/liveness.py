"""Is the origin still there? It is asked when it has long owed a word, and left when it does not say so."""

from __future__ import annotations

from typing import Literal

__all__ = ["Liveness"]

# After so long without a word that is owed the origin is asked, and given so long to react.
_SILENT_S = 30.0
_PATIENCE_S = 20.0


class Liveness:
    """What is known of one connection; the caller says when."""

    __slots__ = ("_asked_at", "_owed_since")

    def __init__(self) -> None:
        self._owed_since: float | None = None
        self._asked_at: float | None = None

    @property
    def doubted(self) -> bool:
        """Return whether the origin was asked and has not reacted, so that nothing new should rely on it."""
        return self._asked_at is not None

    def expect(self, now: float) -> None:
        """Note that something was sent that the origin will react to."""
        if self._owed_since is None:
            self._owed_since = now

    def hear(self, now: float, *, owing: bool) -> None:
        """Note that the origin said something; ``owing``: more will have to come."""
        self._owed_since, self._asked_at = now if owing else None, None

    def ask(self, now: float) -> bool:
        """Note that the origin is asked; False where it is asked already."""
        if self._asked_at is not None:
            return False
        self._asked_at = now
        return True

    def verdict(self, now: float) -> Literal["there", "silent", "gone"]:
        """Return what to make of it: nothing, ask, or leave."""
        if self._asked_at is not None:
            return "gone" if now - self._asked_at > _PATIENCE_S else "there"
        silent = self._owed_since is not None and now - self._owed_since > _SILENT_S
        return "silent" if silent else "there"
