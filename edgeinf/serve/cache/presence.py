"""Which keys may be on disk, so that a miss need not ask: a Bloom filter in a file that all processes map.

A key sets four bits taken from its 16 bytes (a hash already); a key with a bit missing is certainly not stored. Bits
are only ever set, by any process of the host; a bit lost to a race, or to a crash of the machine, costs a hit and
nothing else. At a million keys about one miss in twenty-five asks the disk for nothing.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterable
from pathlib import Path

__all__ = ["Presence"]

_BITS = 2**23
_POSITIONS = struct.Struct("<4I")


class Presence:
    """The filter. Raise OSError where its file cannot be had."""

    def __init__(self, path: Path) -> None:
        size = _BITS // 8
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self.fresh = os.fstat(descriptor).st_size != size
            if self.fresh:
                os.ftruncate(descriptor, 0)
                os.ftruncate(descriptor, size)
            self._bits = mmap.mmap(descriptor, size)
        finally:
            os.close(descriptor)

    def may_hold(self, find: bytes) -> bool:
        """Return False where the key was never added."""
        bits = self._bits
        for position in _POSITIONS.unpack(find):
            position %= _BITS
            if not bits[position >> 3] & 1 << (position & 7):
                return False
        return True

    def add(self, finds: Iterable[bytes]) -> None:
        """Set the bits of keys that are stored."""
        bits = self._bits
        for find in finds:
            for position in _POSITIONS.unpack(find):
                position %= _BITS
                bits[position >> 3] |= 1 << (position & 7)

    def clear(self) -> None:
        """Forget every key."""
        self._bits[:] = bytes(_BITS // 8)

    def close(self) -> None:
        """Let go of the file."""
        self._bits.close()
