"""A report that is redrawn in place while work goes on; plain lines where there is no terminal."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import IO, TYPE_CHECKING, Self

from edgeinf.core.report.terminal import console_for, render
from edgeinf.core.report.tree import Part

if TYPE_CHECKING:
    from rich.live import Live

__all__ = ["LiveReport"]


class LiveReport:
    """Show the newest state of something. ``line`` says the same in one line, for logs."""

    def __init__(self, stream: IO[str], *, colour: bool, every_s: float = 10.0) -> None:
        self._stream = stream
        self._colour = colour
        self._every_s = every_s
        self._last = float("-inf")
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if self._stream.isatty():
            from rich.live import Live

            self._live = Live(console=console_for(self._stream, colour=self._colour), auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, part: Callable[[], Part], line: Callable[[], str]) -> None:
        """Draw the state; both are called only if they are shown."""
        now = time.monotonic()
        if self._live is not None:
            if now - self._last >= 0.1:
                from rich.console import Group

                self._last = now
                self._live.update(Group(*render(part())), refresh=True)
        elif now - self._last >= self._every_s:
            self._last = now
            self._stream.write(line() + "\n")
            self._stream.flush()
