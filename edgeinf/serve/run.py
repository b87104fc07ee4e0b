"""Run the server: sockets, signals, a drain that loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Callable, Iterator

import uvicorn

from edgeinf.core.config.schema import Config
from edgeinf.core.errors import UsageError
from edgeinf.serve.app import App
from edgeinf.serve.runtime import Runtime, make_runtime

__all__ = ["bind", "serve", "serve_forever"]

_BACKLOG = 2048


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise UsageError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError as error:
        sock.close()
        hint = "choose another with --port, or 0 for any" if error.errno in (98, 48) else None
        raise UsageError(
            f"cannot listen on {host}:{port}: {(error.strerror or str(error)).lower()}", hint=hint
        ) from None
    sock.listen(_BACKLOG)
    sock.setblocking(False)
    return sock


class _Server(uvicorn.Server):
    """uvicorn, with the signals left to us and a word when it is ready."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._ready is not None:
            self._ready()


async def serve(
    config: Config,
    sock: socket.socket,
    *,
    ready: Callable[[], None] | None = None,
    stop: asyncio.Event | None = None,
    runtime: Runtime | None = None,
) -> None:
    """Serve on a socket until ``stop`` is set; then finish what is under way within ``listen.drain``."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    runtime = runtime or make_runtime(config)
    settings = uvicorn.Config(
        App(runtime),
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, round(config.listen.drain)),
        backlog=_BACKLOG,
    )
    server = _Server(settings, ready)
    stopping = asyncio.ensure_future(_stop_on(stop, server, runtime)) if stop is not None else None
    try:
        await server.serve(sockets=[sock])
    finally:
        if stopping is not None:
            stopping.cancel()
        await runtime.aclose()


async def _stop_on(stop: asyncio.Event, server: uvicorn.Server, runtime: Runtime) -> None:
    await stop.wait()
    runtime.draining = True
    server.should_exit = True


def serve_forever(config: Config, sock: socket.socket, *, ready: Callable[[], None]) -> int:
    """Serve until SIGINT or SIGTERM and return the exit code that says which."""
    code = 0

    async def main() -> None:
        nonlocal code
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def end(by: signal.Signals) -> None:
            nonlocal code
            code = 128 + by
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end, number)
        await serve(config, sock, ready=ready, stop=stop)

    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(main())
    return code


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # not on every system; asyncio's own loop serves as well, slower
        return None
    return uvloop.new_event_loop
