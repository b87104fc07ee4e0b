"""Remember what was found in the text that was looked at last, which one rule after the other asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Latest"]

Found = TypeVar("Found")

# A longer text is not held on to when its request has ended.
_LONGEST = 1024 * 1024


class Latest(Generic[Found]):
    """A function of a text that remembers one result, by the text's identity: unlike a dict, it hashes nothing."""

    __slots__ = ("_find", "_seen")

    def __init__(self, find: Callable[[str], Found]) -> None:
        self._find = find
        self._seen: tuple[str, Found] | None = None  # replaced whole, so that threads may share it

    def __call__(self, text: str) -> Found:
        """Return what the function returns for the text."""
        seen = self._seen
        if seen is not None and seen[0] is text:
            return seen[1]
        found = self._find(text)
        if len(text) <= _LONGEST:
            self._seen = (text, found)
        return found

    def note(self, text: str, found: Found) -> None:
        """Remember a result that is known without looking."""
        if len(text) <= _LONGEST:
            self._seen = (text, found)
