"""The scripted origin on the caller's event loop."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

from edgeinf.core.errors import UsageError
from edgeinf.mock import admin
from edgeinf.mock.dialects.base import Memory
from edgeinf.mock.http.connection import Connection
from edgeinf.mock.load import load
from edgeinf.mock.record import Call, Record
from edgeinf.mock.respond import Responder
from edgeinf.mock.script import Script
from edgeinf.mock.values import Ask, Plan

__all__ = ["MockOrigin"]

# Within so many turns of its loop a connection that was accepted has been made; asyncio leaves one open whose listener
# is closed in between.
_TURNS = 5


class MockOrigin:
    """An HTTP origin that answers by a script: ``async with MockOrigin({"tokens": …}) as origin``.

    ``script`` is a Script or a dict as in ``load.py``; with ``tls`` the origin speaks https.
    """

    def __init__(
        self,
        script: Script | Mapping[str, Any] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        keep: int = 100_000,
    ) -> None:
        self.record = Record(keep)
        self.connections: set[Connection] = set()
        self.frozen_until = 0.0
        self.host = host
        self.port = port
        self._tls = tls
        self._server: asyncio.Server | None = None
        self._return: asyncio.TimerHandle | None = None
        self._comeback: asyncio.Task[None] | None = None
        self._memory = Memory(lambda: len(self.record.active))
        self.use(script)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        await self.up()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._return is not None:
            self._return.cancel()
        if self._comeback is not None:
            await self._comeback
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        self.down()
        while self.connections:  # noqa: ASYNC110 - the transports' own callbacks empty it in a turn or two
            await asyncio.sleep(0)

    # What tests read.

    @property
    def url(self) -> str:
        """The address without a path, such as ``http://127.0.0.1:41234``."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}"

    @property
    def calls(self) -> list[Call]:
        """The calls so far, in the order in which they were complete."""
        return list(self.record.calls)

    def calls_to(self, path: str) -> list[Call]:
        """The calls to paths that end so."""
        return [call for call in self.record.calls if call.path.endswith(path)]

    @property
    def count(self) -> int:
        """How many POST requests came: the calls that cost money, not health checks."""
        return self.record.posts

    @property
    def peak(self) -> int:
        """The most calls that ran at once."""
        return self.record.peak

    @property
    def active(self) -> int:
        """The calls that run now."""
        return len(self.record.active)

    # What tests do.

    def use(self, script: Script | Mapping[str, Any] | None) -> None:
        """Change the script; its counters and its clock start anew, what the API has stored stays."""
        self.script = load(script)
        self.each_alone = self.script.packets == "event"
        self._responder = Responder(self.script, memory=self._memory)

    def reset(self) -> None:
        """Forget the recorded calls."""
        self.record.clear()

    def release(self) -> None:
        """Let every answer go on that a ``stall`` holds back."""
        for connection in list(self.connections):
            connection.release()

    def freeze(self, seconds: float) -> None:
        """Read and write nothing for a time, on any connection; the kernel still accepts."""
        self.frozen_until = self._loop.time() + seconds

    def down(self) -> None:
        """Close the listener and reset every connection: new ones are refused."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in list(self.connections):
            connection.drop()

    async def up(self) -> None:
        """Listen again, on the same port."""
        if self._server is not None:
            return
        listener = await self._bind()
        self.port = listener.getsockname()[1]
        loop = self._loop
        self._server = await loop.create_server(lambda: Connection(self, loop), sock=listener, ssl=self._tls)

    def affect(self, effect: str, seconds: float) -> None:
        """Freeze the origin, or take it down and bring it back after so many seconds."""
        if effect == "freeze":
            self.freeze(seconds)
            return
        self.down()
        if self._return is not None:
            self._return.cancel()
        self._return = self._loop.call_later(seconds, self._come_back)

    async def until(self, condition: Callable[[], bool], *, within_s: float = 10.0) -> None:
        """Wait until a condition on what was recorded holds. Raise TimeoutError if it does not."""
        async with asyncio.timeout(within_s):
            while not condition():  # noqa: ASYNC110 - any condition on the record, not one event
                await asyncio.sleep(0.002)

    async def until_calls(self, count: int, *, within_s: float = 10.0) -> None:
        """Wait until so many calls have come."""
        await self.until(lambda: self.record.total >= count, within_s=within_s)

    async def until_idle(self, *, within_s: float = 10.0) -> None:
        """Wait until no call runs."""
        await self.until(lambda: not self.record.active, within_s=within_s)

    # What connections ask.

    def plan(self, ask: Ask) -> tuple[Plan, tuple[str, ...]]:
        """Plan the answer to a request."""
        return self._responder.plan(ask)

    def control(self, ask: Ask) -> Plan:
        """Answer one of the mock's own paths."""
        return admin.answer(self, ask)

    def _come_back(self) -> None:
        self._comeback = self._loop.create_task(self.up())

    async def _bind(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        for attempt in range(50):
            listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio leaves Nagle on
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setblocking(False)
            try:
                listener.bind((self.host, self.port))
                listener.listen(4096)
            except OverflowError as error:
                listener.close()
                raise UsageError(f"{self.port} is not a port", hint="one of 0 to 65535") from error
            except OSError as error:
                listener.close()
                if error.errno != errno.EADDRINUSE or not self.record.total or attempt == 49:
                    where = f"{self.host}:{self.port}"
                    raise UsageError(f"cannot listen ({where}): {error.strerror}", hint="--port 0 picks one") from error
                await asyncio.sleep(0.02)  # our own listener from before is still closing
            else:
                return listener
        raise AssertionError("unreachable")
