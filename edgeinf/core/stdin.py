"""Standard input as bytes, where there is one."""

from __future__ import annotations

import sys
from typing import IO

from edgeinf.core.errors import UsageError

__all__ = ["standard_input"]


def standard_input() -> IO[bytes]:
    """Return standard input. Raise UsageError where the caller has closed it."""
    if sys.stdin is None:
        raise UsageError("cannot read -: standard input is closed", hint="give a file")
    return sys.stdin.buffer
