"""One of several processes that serve: it shares with the others what its parent holds for all."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import Callable

import msgspec

from edgeinf.core.config.schema import Config
from edgeinf.core.errors import EdgeinfError
from edgeinf.serve.fleet.link import Handler, Link, connect
from edgeinf.serve.fleet.member import Member
from edgeinf.serve.fleet.remote_limits import HubLimiter
from edgeinf.serve.reload import Load, apply_config, read_config
from edgeinf.serve.run import loop_factory, serve
from edgeinf.serve.runtime import Runtime, make_runtime

__all__ = ["work"]


def work(config: Config, sock: socket.socket, parent: socket.socket, secret: bytes, load: Load | None) -> int:
    """Serve until the parent says to stop or is gone; return the exit code."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_work(config, sock, parent, secret, load))


async def _work(config: Config, sock: socket.socket, parent: socket.socket, secret: bytes, load: Load | None) -> int:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    handlers: dict[str, Handler] = {}
    link = await connect(parent, handlers, on_lost=lambda _: stop.set())
    try:
        runtime = make_runtime(config, secret=secret)
    except EdgeinfError as error:
        link.tell("failed", error.message)
        await asyncio.sleep(0.1)  # the word must be out before the process is gone
        return error.exit_code
    member = Member(runtime, link)
    handlers.update(member.handlers())
    handlers.update(_told(runtime, load))
    runtime.peers = member
    runtime.shared_flights = member
    runtime.limiter = HubLimiter(link, runtime.clock, runtime.limiter)
    host = f"{socket.gethostname()}:{os.getppid()}"  # all workers of one parent are one node
    await serve(config, sock, ready=lambda: link.tell("ready", None), stop=stop, runtime=runtime, host=host)
    return 0


def _told(runtime: Runtime, load: Load | None) -> dict[str, Callable[[Link, msgspec.Raw], object]]:
    """Return what the parent tells: read the config anew, or that a new one was refused."""

    async def reload(link: Link, body: msgspec.Raw) -> str:
        if load is None:
            return "there is no config to read"
        read = await read_config(load)
        return read if isinstance(read, str) else apply_config(runtime, read) or ""

    def refused(link: Link, body: msgspec.Raw) -> None:
        why = msgspec.msgpack.decode(body, type=str)
        runtime.notices["reload"] = f"the changed config is refused, the old one holds: {why}"

    return {"reload": reload, "refused": refused}
