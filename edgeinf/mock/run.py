"""Run origins until a signal comes: what the command does once it knows its scripts."""

from __future__ import annotations

import asyncio
import gc
import signal
import ssl
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack

from edgeinf.mock.origin import MockOrigin
from edgeinf.mock.script import Script

__all__ = ["run"]


def run(
    scripts: Sequence[tuple[Script, int]],
    *,
    host: str,
    tls: ssl.SSLContext | None,
    keep: int,
    ready: Callable[[list[MockOrigin]], None],
) -> int:
    """Serve each (script, port) until SIGINT or SIGTERM, and return that signal's number."""
    gc.freeze()  # what was imported is never garbage
    gc.set_threshold(50_000, 20, 50)  # calls come and go without cycles
    return _runner().run(_serve(scripts, host, tls, keep, ready))


async def _serve(
    scripts: Sequence[tuple[Script, int]],
    host: str,
    tls: ssl.SSLContext | None,
    keep: int,
    ready: Callable[[list[MockOrigin]], None],
) -> int:
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        if not stopped.done():
            stopped.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    async with AsyncExitStack() as stack:
        origins = []
        for script, port in scripts:
            origin = MockOrigin(script, host=host, port=port, tls=tls, keep=keep)
            origins.append(await stack.enter_async_context(origin))
        ready(origins)
        return await stopped


def _runner() -> asyncio.Runner:
    """Return a runner on uvloop where that is installed; timers and sockets behave alike, only slower, without."""
    try:
        import uvloop
    except ImportError:  # no wheels for this platform
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
