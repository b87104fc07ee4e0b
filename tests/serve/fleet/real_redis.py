"""A Redis of the test's own, with a socket, a folder and a life of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.programs import need

__all__ = ["RealRedis", "real_redis"]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return int(sock.getsockname()[1])


class RealRedis:
    """One redis-server, which a test may stop, freeze, fill and start again on the same port."""

    def __init__(self, program: str, folder: Path, *options: str) -> None:
        self._program = program
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        command = [
            self._program,
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(self._folder),
        ]
        self._process = subprocess.Popen(
            [*command, *self._options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + 20
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), 1) as sock:
                    sock.sendall(b"PING\r\n")
                    if sock.recv(100).startswith((b"+PONG", b"-NOAUTH")):
                        return
            except OSError:
                pass
            assert time.monotonic() < end, "redis-server does not answer"
            time.sleep(0.02)

    def command(self, *words: str) -> None:
        with socket.create_connection(("127.0.0.1", self.port), 5) as sock:
            parts = [f"${len(word.encode())}\r\n{word}\r\n" for word in words]
            sock.sendall(f"*{len(words)}\r\n{''.join(parts)}".encode())
            said = sock.recv(4096)
        assert not said.startswith(b"-"), said

    def freeze(self) -> None:
        """Let it answer nothing; the kernel still takes connections."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None:
            self._signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)


@contextmanager
def real_redis(folder: Path, *options: str) -> Iterator[RealRedis]:
    made = RealRedis(need("redis-server"), folder, *options)
    made.start()
    try:
        yield made
    finally:
        made.stop()
