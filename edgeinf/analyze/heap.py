"""Have memory go back to the system when it is free. glibc keeps what it may need again: after a large log was read,
that is as much as all of its columns."""

from __future__ import annotations

import contextlib
import ctypes
import sys

from edgeinf.analyze import spill

__all__ = ["give_back"]


def give_back() -> None:
    """Return what is free to the system, where the C library can, and what lies on disk as well."""
    spill.rest()
    with contextlib.suppress(OSError, AttributeError):
        _libc().malloc_trim(0)


def _libc() -> ctypes.CDLL:
    if not sys.platform.startswith("linux"):
        raise OSError("only glibc has these calls")
    return ctypes.CDLL(None)
