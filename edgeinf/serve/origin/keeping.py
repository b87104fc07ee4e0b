"""How long a connection is kept, whatever it speaks."""

from __future__ import annotations

import asyncio
import contextlib
import socket

__all__ = ["MAX_AGE_S", "MAX_IDLE_S", "RACE_S", "keep_alive"]

# An idle connection is not used again after this long: origins and their balancers drop them at 60 s or more.
MAX_IDLE_S = 45.0
# A connection is not used again when it is older than this, so that a changed DNS answer is followed.
MAX_AGE_S = 300.0
# A kept connection that the origin closes so soon after a request was written had been closed before it arrived.
RACE_S = 1.0
# Middle boxes forget silent connections after some minutes, and a whole answer may be silent for as long.
_KEEPALIVE_S = 30


def keep_alive(transport: asyncio.BaseTransport) -> None:
    """Have the system ask now and then whether the other end is there."""
    sock = transport.get_extra_info("socket")
    if sock is None:
        return
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_KEEPIDLE"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_S)
