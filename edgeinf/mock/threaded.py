"""The scripted origin on a thread of its own, for code that is not asynchronous."""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

from edgeinf.mock.origin import MockOrigin
from edgeinf.mock.record import Call
from edgeinf.mock.script import Script

__all__ = ["ThreadedOrigin"]

_T = TypeVar("_T")


class ThreadedOrigin:
    """A MockOrigin behind a plain ``with``; the same attributes, and methods that block."""

    def __init__(
        self,
        script: Script | Mapping[str, Any] | None = None,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._origin = MockOrigin(script, host=host, port=port, tls=tls)
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._serve, name="mock-origin", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)

    @property
    def url(self) -> str:
        return self._origin.url

    @property
    def port(self) -> int:
        return self._origin.port

    @property
    def calls(self) -> list[Call]:
        return self._run(lambda: self._origin.calls)

    def calls_to(self, path: str) -> list[Call]:
        """The calls to paths that end so."""
        return self._run(lambda: self._origin.calls_to(path))

    @property
    def count(self) -> int:
        return self._run(lambda: self._origin.count)

    @property
    def peak(self) -> int:
        return self._origin.peak

    @property
    def active(self) -> int:
        return self._origin.active

    def use(self, script: Script | Mapping[str, Any] | None) -> None:
        """Change the script."""
        self._run(lambda: self._origin.use(script))

    def reset(self) -> None:
        """Forget the recorded calls."""
        self._run(self._origin.reset)

    def release(self) -> None:
        """Let held answers go on."""
        self._run(self._origin.release)

    def freeze(self, seconds: float) -> None:
        """Read and write nothing for a time."""
        self._run(lambda: self._origin.freeze(seconds))

    def down(self) -> None:
        """Refuse connections and reset those that exist."""
        self._run(self._origin.down)

    def up(self) -> None:
        """Listen again, on the same port."""
        asyncio.run_coroutine_threadsafe(self._origin.up(), self._loop).result(10)

    def until(self, condition: Callable[[], bool], *, within_s: float = 10.0) -> None:
        """Wait until a condition holds. Raise TimeoutError if it does not."""
        end = time.monotonic() + within_s
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"not within {within_s:g} s")
            time.sleep(0.002)

    def until_calls(self, count: int, *, within_s: float = 10.0) -> None:
        """Wait until so many calls have come."""
        self.until(lambda: self._origin.record.total >= count, within_s=within_s)

    def until_idle(self, *, within_s: float = 10.0) -> None:
        """Wait until no call runs."""
        self.until(lambda: not self._origin.record.active, within_s=within_s)

    def _run(self, action: Callable[[], _T]) -> _T:
        async def acted() -> _T:
            return action()

        return asyncio.run_coroutine_threadsafe(acted(), self._loop).result(10)

    def _serve(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        try:
            async with self._origin:
                self._ready.set()
                await self._stop.wait()
        except Exception as error:
            if self._ready.is_set():
                raise
            self._failure = error  # raised again where the ``with`` stands
            self._ready.set()
