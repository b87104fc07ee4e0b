"""Several processes behind one socket: a small parent that forks workers, replaces those that die, and is their hub.

The parent serves no request and loads no library for it: it holds the listening socket, so that no connection is lost
while a worker is replaced, and the state that the workers share.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from edgeinf.core.clock import SystemClock
from edgeinf.core.config.schema import Config
from edgeinf.core.errors import UsageError
from edgeinf.serve import systemd
from edgeinf.serve.fleet.hub import Hub
from edgeinf.serve.fleet.link import Link, LinkDown, connect
from edgeinf.serve.limits.ledger import ledger_for
from edgeinf.serve.limits.local import LocalLimiter
from edgeinf.serve.reload import Load, read_config, watch_files
from edgeinf.serve.secret import event_secret

__all__ = ["supervise"]

_log = logging.getLogger("edgeinf.serve")

# A worker that dies younger than this is replaced only after as long, so that a broken one does not spin.
_YOUNG_S = 5.0
_START_S = 60.0


class _Worker:
    def __init__(self, pid: int, link: Link) -> None:
        self.pid = pid
        self.link = link
        self.born = time.monotonic()
        self.ready = asyncio.Event()
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()


def supervise(
    config: Config,
    sock: socket.socket,
    *,
    ready: Callable[[], None],
    workers: int,
    load: Load | None = None,
    watch: Sequence[Path] = (),
) -> int:
    """Serve with several processes until SIGINT or SIGTERM and return the exit code that says which."""
    with asyncio.Runner() as runner:
        return runner.run(_Parent(config, sock, workers, load).run(ready, watch))


class _Parent:
    def __init__(self, config: Config, sock: socket.socket, count: int, load: Load | None) -> None:
        self._config = config
        self._sock = sock
        self._count = count
        self._load = load
        self._secret = event_secret(config)
        limiter = LocalLimiter(SystemClock())
        self._ledger = ledger_for(config, limiter)
        self._hub = Hub(limiter)
        self._workers: list[_Worker] = []
        self._failure: str | None = None
        self._stopping = asyncio.Event()
        self._reload = asyncio.Event()
        self._code = 0

    async def run(self, ready: Callable[[], None], watch: Sequence[Path]) -> int:
        """Start the workers, keep them, and end with them."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._end, number)
        loop.add_signal_handler(signal.SIGCHLD, self._reap)
        loop.add_signal_handler(signal.SIGHUP, self._reload.set)
        keepers: list[asyncio.Task[None]] = []
        if self._ledger is not None:
            self._ledger.load()
        try:
            if self._load is not None:
                keepers.append(loop.create_task(watch_files(watch, self._changed)))
            await asyncio.gather(*(self._start() for _ in range(self._count)))
            if not self._stopping.is_set():
                ready()
                systemd.notify("READY=1")
            keepers += [loop.create_task(self._keep(worker)) for worker in list(self._workers)]
            keepers += [loop.create_task(systemd.keep_watchdog()), loop.create_task(self._reloads())]
            if self._ledger is not None:
                keepers.append(loop.create_task(self._ledger.keep()))
            await self._stopping.wait()
        finally:
            for keeper in keepers:
                keeper.cancel()
            await self._end_all()
            if self._ledger is not None:
                self._ledger.save()
        return self._code

    # --- workers ---

    async def _start(self) -> _Worker:
        """Fork a worker and wait until it serves. Raise UsageError where it says that it cannot."""
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            _in_child(self._config, self._sock, theirs, self._secret, self._count, self._load)
        theirs.close()
        handlers = {**self._hub.handlers(), "ready": self._ready, "failed": self._failed}
        link = await connect(ours, handlers, on_lost=self._hub.lost)
        worker = _Worker(pid, link)
        self._workers.append(worker)
        self._hub.add(link)
        self._reap()  # it may have ended before it was known
        waiting = asyncio.ensure_future(worker.ready.wait())
        stopping = asyncio.ensure_future(self._stopping.wait())
        until: set[asyncio.Future[Any]] = {waiting, worker.ended, stopping}
        await asyncio.wait(until, timeout=_START_S, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        stopping.cancel()
        if not worker.ready.is_set() and not self._stopping.is_set():
            raise UsageError(self._failure or "a worker ended before it could serve")
        return worker

    async def _keep(self, worker: _Worker) -> None:
        """Replace a worker whenever it ends."""
        while True:
            code = await asyncio.shield(worker.ended)
            if self._stopping.is_set():
                return
            _log.error("a worker ended with code %s and is replaced", code)
            if time.monotonic() - worker.born < _YOUNG_S:
                await asyncio.sleep(_YOUNG_S)
            while True:
                try:
                    worker = await self._start()
                except UsageError as error:
                    _log.error("a worker cannot start: %s", error.message)
                    await asyncio.sleep(_YOUNG_S)
                else:
                    break

    def _ready(self, link: Link, body: object) -> None:
        for worker in self._workers:
            if worker.link is link:
                worker.ready.set()

    def _failed(self, link: Link, body: bytes) -> None:
        import msgspec

        self._failure = msgspec.msgpack.decode(body, type=str)

    def _reap(self) -> None:
        for worker in list(self._workers):
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(worker.pid, os.WNOHANG)
                if pid:
                    self._workers.remove(worker)
                    worker.ended.set_result(os.waitstatus_to_exitcode(status))

    # --- the end ---

    def _end(self, by: signal.Signals) -> None:
        if self._stopping.is_set():
            for worker in self._workers:
                _signal(worker, signal.SIGKILL)
        self._code = 128 + by
        systemd.notify("STOPPING=1")
        self._stopping.set()

    async def _end_all(self) -> None:
        """Let every worker drain; what does not end in time is killed."""
        self._stopping.set()
        left = list(self._workers)
        for worker in left:
            _signal(worker, signal.SIGTERM)
        self._sock.close()  # or clients would still connect when no worker listens, and wait for nobody
        if left:
            await asyncio.wait({worker.ended for worker in left}, timeout=self._config.listen.drain + 10)
        for worker in list(self._workers):
            _signal(worker, signal.SIGKILL)
            await worker.ended

    # --- reload ---

    async def _changed(self) -> None:
        self._reload.set()

    async def _reloads(self) -> None:
        while True:
            await self._reload.wait()
            self._reload.clear()
            if self._load is None:
                continue
            systemd.reloading()
            read = await read_config(self._load)
            refused = read if isinstance(read, str) else None
            if isinstance(read, Config):
                self._config = read  # what a later worker starts with
                answers = await asyncio.gather(*(self._reload_one(worker) for worker in self._workers))
                refused = next((answer for answer in answers if answer), None)
            if refused is None:
                _log.warning("the config was read anew and holds from now on")
            else:
                _log.error("the changed config is refused, the old one stays: %s", refused)
                for worker in self._workers:
                    worker.link.tell("refused", refused)
            systemd.notify("READY=1")

    async def _reload_one(self, worker: _Worker) -> str:
        try:
            return await worker.link.ask("reload", None, str, timeout_s=30)
        except LinkDown as error:
            return str(error)


def _signal(worker: _Worker, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(worker.pid, number)


# --- in the worker ---


def _in_child(
    config: Config, sock: socket.socket, link: socket.socket, secret: bytes, count: int, load: Load | None
) -> None:
    """Become a worker; never returns."""
    code = 3
    try:
        asyncio._set_running_loop(None)
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)  # the parent decides
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _close_all_but(sock.fileno(), link.fileno())
        random.seed()
        from edgeinf.serve.worker import work

        code = work(_share_of(config, count), sock, link, secret, load and (lambda: _share_of(load(), count)))
    except BaseException:
        _log.exception("a worker ended by a bug")
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _share_of(config: Config, count: int) -> Config:
    """Return the config of one worker: memory bounds are the host's, so each takes its part."""
    memory = config.cache.memory
    if memory is None:
        return config
    entries = None if memory.max_entries is None else max(1, memory.max_entries // count)
    part = replace(memory, max_size=memory.max_size // count, max_entries=entries)
    return replace(config, cache=replace(config.cache, memory=part))


def _close_all_but(*kept: int) -> None:
    low = 3
    for number in sorted(kept):
        os.closerange(low, number)
        low = number + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))
