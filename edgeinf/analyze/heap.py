"""Have memory go back to the system when it is free. glibc keeps what it may need again: after a large log was read,
that is as much as all of its columns."""

from __future__ import annotations

import contextlib
import ctypes
import sys

__all__ = ["give_back", "map_large_blocks"]

# malloc.h of glibc: blocks of at least this size are mapped each on its own, and the bound does not grow.
_M_MMAP_THRESHOLD = -3
_LARGE = 256 * 1024


def map_large_blocks() -> bool:
    """Have large blocks go back to the system as soon as they are free; return whether that can be had here."""
    with contextlib.suppress(OSError, AttributeError):
        return bool(_libc().mallopt(_M_MMAP_THRESHOLD, _LARGE))
    return False


def give_back() -> None:
    """Return what is free to the system, where the C library can."""
    with contextlib.suppress(OSError, AttributeError):
        _libc().malloc_trim(0)


def _libc() -> ctypes.CDLL:
    if not sys.platform.startswith("linux"):
        raise OSError("only glibc has these calls")
    return ctypes.CDLL(None)
