"""What a command line names: standard input, where there is one, and files that may be packed."""

from __future__ import annotations

import sys
from typing import IO

from edgeinf.core.errors import UsageError
from edgeinf.core.packed import unpacked

__all__ = ["read_whole", "standard_input"]


def standard_input() -> IO[bytes]:
    """Return standard input. Raise UsageError where the caller has closed it."""
    if sys.stdin is None:
        raise UsageError("cannot read -: standard input is closed", hint="give a file")
    return sys.stdin.buffer


def read_whole(name: str) -> bytes:
    """Return what a file or ``-`` holds, in the clear. Raise UsageError."""
    try:
        if name == "-":
            return unpacked(standard_input().read())
        with open(name, "rb") as file:
            return unpacked(file.read())
    except OSError as error:
        raise UsageError(f"cannot read {name}: {(error.strerror or str(error)).lower()}") from None
    except (EOFError, ValueError):
        raise UsageError(f"cannot unpack {name}: the file is damaged") from None
