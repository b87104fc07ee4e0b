"""Speak to the service manager: readiness, reloads, stopping, a watchdog, and sockets that it passes in.

The protocol of ``sd_notify(3)`` and ``sd_listen_fds(3)``; without such a manager nothing happens.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import MutableMapping

__all__ = ["keep_watchdog", "notify", "passed_socket", "reloading"]

_FIRST = 3


def notify(state: str, env: MutableMapping[str, str] = os.environ) -> bool:
    """Send lines such as ``READY=1`` to the manager; False where there is none."""
    address = env.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
        try:
            sock.sendto(state.encode(), "\0" + address[1:] if address[0] == "@" else address)
        except OSError:
            return False  # the manager went away; that is no reason to
    return True


def reloading() -> None:
    """Say that a reload has begun; ``READY=1`` ends it."""
    notify(f"RELOADING=1\nMONOTONIC_USEC={time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}")


def passed_socket(env: MutableMapping[str, str] = os.environ) -> socket.socket | None:
    """Return the listening socket that the manager has passed in, None if it has not; it can be taken once."""
    if env.get("LISTEN_PID") != str(os.getpid()) or not env.get("LISTEN_FDS", "").isdigit():
        return None
    count = int(env["LISTEN_FDS"])
    for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
        env.pop(name, None)
    if count < 1:
        return None
    sock = socket.socket(fileno=os.dup(_FIRST))
    for number in range(_FIRST, _FIRST + count):
        os.close(number)
    sock.setblocking(False)
    os.set_inheritable(sock.fileno(), False)
    return sock


async def keep_watchdog(env: MutableMapping[str, str] = os.environ) -> None:
    """Tell the manager twice per interval that this loop turns, for ever; return at once where it does not ask."""
    text = env.get("WATCHDOG_USEC", "")
    if not text.isdigit() or env.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return
    while notify("WATCHDOG=1", env):  # noqa: ASYNC110 - the manager wants a beat, not an event
        await asyncio.sleep(int(text) / 2_000_000)
