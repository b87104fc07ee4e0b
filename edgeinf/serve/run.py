"""Run the server: sockets, signals, a drain that loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import uvicorn

from edgeinf.core.config.schema import Config
from edgeinf.core.errors import UsageError
from edgeinf.serve import systemd
from edgeinf.serve.app import App
from edgeinf.serve.context.tending import tend_documents
from edgeinf.serve.front import Front, check_tls
from edgeinf.serve.limits.ledger import ledger_for
from edgeinf.serve.origin.upkeep import Upkeep
from edgeinf.serve.protocol import protocol_class
from edgeinf.serve.reload import Load, apply_config, read_config, watch_files
from edgeinf.serve.runtime import Runtime, make_runtime
from edgeinf.serve.shortcut import Shortcut

__all__ = ["bind", "loop_factory", "serve", "serve_forever"]

_log = logging.getLogger("edgeinf.serve")

_BACKLOG = 2048
# How long clients that keep connections open are asked to leave by themselves before the socket is closed, and a
# connection is kept after its last request.
_LINGER_S = 1.0


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise UsageError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio turns Nagle's algorithm off on every connection that is accepted.
    sock = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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

    async def drain(self, linger_s: float) -> None:
        """Ask clients to leave by themselves for a while, then stop listening and finish what is under way."""
        self.config.encoded_headers = [*self.config.encoded_headers, (b"connection", b"close")]
        self.server_state.default_headers = [*self.server_state.default_headers, (b"connection", b"close")]
        for connection in self.server_state.connections:
            if isinstance(connection, Front):
                connection.forewarn()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(linger_s):
                while self.server_state.connections:  # noqa: ASYNC110 - uvicorn says nothing when one leaves
                    await asyncio.sleep(0.02)
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await asyncio.sleep(0.001)  # who has connected is let in before the socket is closed
        await super().shutdown(sockets)


async def serve(
    config: Config,
    sock: socket.socket,
    *,
    ready: Callable[[], None] | None = None,
    stop: asyncio.Event | None = None,
    force: asyncio.Event | None = None,
    runtime: Runtime | None = None,
    host: str = "",
) -> None:
    """Serve on a socket until ``stop`` is set; then finish what is under way within ``listen.drain``, or until
    ``force`` is set."""
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    runtime = runtime or make_runtime(config)
    linger_s = min(_LINGER_S, config.listen.drain / 4)
    tls = config.listen.tls
    if tls is not None:
        check_tls(tls)
    settings = uvicorn.Config(
        App(runtime),
        http=protocol_class(Shortcut(runtime), config.listen.header_timeout, linger_s),
        ssl_certfile=None if tls is None else tls.cert,
        ssl_keyfile=None if tls is None else str(tls.key),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, round(config.listen.drain - linger_s)),
        backlog=_BACKLOG,
    )
    server = _Server(settings, ready)
    runtime.in_progress = lambda: len(server.server_state.tasks)
    waiting = [asyncio.ensure_future(_stop_on(stop, server, runtime, linger_s))] if stop is not None else []
    if force is not None:
        waiting.append(asyncio.ensure_future(_force_on(force, server)))
    ledger = ledger_for(config, runtime.limiter)
    if ledger is not None:
        ledger.load()
        waiting.append(asyncio.ensure_future(ledger.keep()))
    if config.cache.shared is not None or config.limits_shared is not None:
        from edgeinf.serve.fleet.redis_fleet import join_fleet

        waiting += [asyncio.ensure_future(task) for task in join_fleet(runtime, host=host)]
    waiting.append(asyncio.ensure_future(Upkeep(runtime).run()))
    waiting.append(asyncio.ensure_future(tend_documents(runtime)))
    # The tiers open now, behind the first requests' backs; one that cannot be used is said at once.
    waiting.append(asyncio.ensure_future(runtime.tiers.open()))
    try:
        await server.serve(sockets=[sock])
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        await runtime.aclose()


async def _stop_on(stop: asyncio.Event, server: _Server, runtime: Runtime, linger_s: float) -> None:
    await stop.wait()
    runtime.draining = True
    await server.drain(linger_s)


async def _force_on(force: asyncio.Event, server: _Server) -> None:
    await force.wait()
    server.should_exit = server.force_exit = True


def serve_forever(
    config: Config,
    sock: socket.socket,
    *,
    ready: Callable[[], None],
    workers: int = 1,
    load: Load | None = None,
    watch: Sequence[Path] = (),
) -> int:
    """Serve until SIGINT or SIGTERM and return the exit code that says which.

    ``load`` reads the config anew: on SIGHUP, and when one of the files in ``watch`` changes.
    """
    _spare_collector()
    if workers > 1:
        from edgeinf.serve.supervise import supervise

        return supervise(config, sock, ready=ready, workers=workers, load=load, watch=watch)
    code = 0

    async def main() -> None:
        nonlocal code
        stop, force = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def end(by: signal.Signals) -> None:
            nonlocal code
            if stop.is_set():
                force.set()
            code = 128 + by
            systemd.notify("STOPPING=1")
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, end, number)
        runtime = make_runtime(config)
        tasks = [loop.create_task(systemd.keep_watchdog())]
        if load is not None:
            tasks += _reloading(runtime, load, watch)

        def said() -> None:
            ready()
            systemd.notify("READY=1")

        try:
            await serve(config, sock, ready=said, stop=stop, force=force, runtime=runtime)
        finally:
            for task in tasks:
                task.cancel()

    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(main())
    return code


def _spare_collector() -> None:
    """Let the collector run seldom: requests leave no cycles behind, and it walks over all that is cached."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _reloading(runtime: Runtime, load: Load, watch: Sequence[Path]) -> list[asyncio.Task[None]]:
    """Reload on SIGHUP and on a changed file, one reload at a time."""
    loop = asyncio.get_running_loop()
    asked = asyncio.Event()

    async def once() -> None:
        systemd.reloading()
        read = await read_config(load)
        why_not = read if isinstance(read, str) else apply_config(runtime, read)
        if why_not is None:
            _log.warning("the config was read anew and holds from now on")
        else:
            _log.error("the changed config is refused, the old one stays: %s", why_not)
            runtime.notices["reload"] = f"the changed config is refused, the old one holds: {why_not}"
        systemd.notify("READY=1")

    async def keep() -> None:
        while True:
            await asked.wait()
            asked.clear()
            await once()

    async def changed() -> None:
        asked.set()

    loop.add_signal_handler(signal.SIGHUP, asked.set)
    return [loop.create_task(keep()), loop.create_task(watch_files(watch, changed))]


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return what makes the fastest event loop that this system has; None for asyncio's own."""
    try:
        import uvloop
    except ImportError:  # not on every system; asyncio's own loop serves as well, slower
        return None
    return uvloop.new_event_loop
