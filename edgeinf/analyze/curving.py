"""The curves of levels, worked out beside what else is to be found out about them."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Self

from edgeinf.analyze import heap
from edgeinf.analyze.curves import Curves, level_curves
from edgeinf.analyze.levels import LevelRun
from edgeinf.analyze.log import Log
from edgeinf.analyze.options import Options

__all__ = ["Curving"]


class Curving:
    """A thread that works on one level after the other. A context manager.

    Sums over long columns leave the interpreter to others, so a thread is enough, and needs no copy of the log.
    """

    def __init__(self, log: Log, options: Options) -> None:
        self._log = log
        self._options = options
        self._thread = ThreadPoolExecutor(max_workers=1)
        self._begun: dict[str, tuple[LevelRun, Future[Curves]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(cancel_futures=True)

    def begin(self, run: LevelRun) -> None:
        """Have the curves of a level worked out."""
        self._begun[run.level] = run, self._thread.submit(self._curves, run)

    def curves(self) -> dict[str, Curves]:
        """Return the curves of each level, helping from the end with what has not begun."""
        found = {
            name: self._curves(run) if future.cancel() else future.result()
            for name, (run, future) in reversed(self._begun.items())
        }
        return {name: found[name] for name in self._begun}

    def _curves(self, run: LevelRun) -> Curves:
        found = level_curves(self._log, run, self._options, table=run.level == self._options.level)
        heap.give_back()
        return found
