"""Cut a stream of bytes at the ends of its events, changing none."""

from __future__ import annotations

import re

__all__ = ["EventCutter"]

# A CR with its LF is one line end, never two; a CR at the very end of what has come counts as one.
_BOUNDARY = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")


class EventCutter:
    """Holds back the part of an event that has not ended, so that whatever follows stands between events."""

    __slots__ = ("_tail",)

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, chunk: bytes) -> bytes:
        """Return everything up to the last event's end; what is left waits for the next chunk."""
        data = self._tail + chunk if self._tail else chunk
        if b"\r" not in data:
            end = data.rfind(b"\n\n") + 2
            if end == 1:
                self._tail = data
                return b""
        else:
            end = 0
            for found in _BOUNDARY.finditer(data, max(0, len(self._tail) - 3)):
                end = found.end()
        self._tail = data[end:]
        return data[:end] if self._tail else data

    @property
    def tail(self) -> bytes:
        """Return the bytes of an event that has begun and not ended."""
        return self._tail
