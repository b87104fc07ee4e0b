"""Take GOAWAY frames out of what an origin sends.

The protocol library holds a connection for closed from that frame on, though RFC 9113 section 6.8 lets the streams
that the frame spares run to their end; origins end connections so whenever they are reloaded.
"""

from __future__ import annotations

from typing import NamedTuple

from h2.exceptions import FrameTooLargeError

__all__ = ["Frames", "GoAway"]

_HEADER = 9
_TYPE = 0x07
_LEAST, _MOST = 8, 16_384  # we allow no larger frame


class GoAway(NamedTuple):
    """The origin works on no stream above ``last``; ``code`` is its reason, 0 for none."""

    last: int
    code: int


class Frames:
    """Fed bytes as they arrive; keeps back only the beginning of a frame that may be a GOAWAY."""

    __slots__ = ("_ahead", "_held")

    def __init__(self) -> None:
        self._held = b""
        self._ahead = 0  # so many bytes after the held ones belong to a frame that has begun

    def feed(self, data: bytes) -> list[bytes | GoAway]:
        """Return what arrived in its order: bytes to pass on, and GOAWAY frames. Raise FrameTooLargeError."""
        if self._held:
            data = self._held + data
        parts: list[bytes | GoAway] = []
        end, start, at = len(data), 0, self._ahead
        while at + _HEADER <= end:
            length = int.from_bytes(data[at : at + 3], "big")
            if length > _MOST:
                raise FrameTooLargeError(f"a frame of {length} bytes")  # now, not when so many have come
            after = at + _HEADER + length
            if data[at + 3] == _TYPE and length >= _LEAST and not any(data[at + 5 : at + _HEADER]):
                if after > end:
                    break
                if start < at:
                    parts.append(data[start:at])
                last = int.from_bytes(data[at + 9 : at + 13], "big") & 0x7FFFFFFF
                parts.append(GoAway(last, int.from_bytes(data[at + 13 : at + 17], "big")))
                start = after
            at = after
        whole = min(at, end)
        if start < whole:
            parts.append(data[start:whole])
        self._held, self._ahead = data[whole:], at - whole
        return parts
