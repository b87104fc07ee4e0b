"""A growing log, read on from where it ended: what was read once is kept in columns and never read again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from edgeinf.analyze import scan
from edgeinf.analyze.columns import Batch
from edgeinf.analyze.log import Log, gather
from edgeinf.analyze.options import Options
from edgeinf.analyze.readers import sniff
from edgeinf.analyze.readers.base import LineReader, sample_of
from edgeinf.analyze.run import Analysis, Report, study
from edgeinf.analyze.source import Chunk, Sources, expand
from edgeinf.core.errors import UsageError

__all__ = ["Growing", "watch"]

_EVERY_S = 2.0
_REST = 5.0  # at most a fifth of the time is spent on studying


class Growing:
    """One log file as far as it has been read."""

    def __init__(self, options: Options) -> None:
        names = expand(options.files)
        if len(names) != 1 or names[0] == "-":
            raise UsageError("--watch follows one file", hint="give the file that is being written")
        if not os.path.isfile(names[0]):
            raise UsageError(f"--watch follows one file, and {names[0]} is none")
        self.options = options
        self.path = names[0]
        self._read_to = 0
        self._file: tuple[int, int] | None = None
        self._batches: list[Batch] = []
        self._plan: scan.ScanPlan | None = None

    def grew(self) -> bool:
        """Read what was added, whole lines only; return whether there was anything."""
        try:
            state = os.stat(self.path)
            file, size = (state.st_dev, state.st_ino), state.st_size
            if size < self._read_to or file != self._file:  # truncated or rotated: start over
                self._file, self._read_to, self._batches = file, 0, []
            end = _last_line_end(self.path, self._read_to, size)
        except FileNotFoundError:  # rotated, and the next one is not there yet
            return False
        if end == self._read_to:
            return False
        plan = self._planned()
        if not isinstance(scan.reader_of(plan), LineReader):
            raise UsageError(f"--watch cannot follow the format {plan.format}", hint="its rows belong together")
        scanner = scan.Scanner(plan)
        while self._read_to < end:
            stop = _last_line_end(self.path, self._read_to, min(end, self._read_to + 2**21)) or end
            self._batches.append(scanner.chunk(Chunk(0, self._read_to, stop)))
            self._read_to = stop
        return True

    def log(self) -> Log:
        """Return everything read so far."""
        return gather(self._planned(), iter(self._batches))

    def _planned(self) -> scan.ScanPlan:
        if self._plan is None:
            given = self.options
            found = "mapped" if given.mapping else given.format
            if found == "auto":
                found = sniff(sample_of(self.path, self.path)).name
            sources = Sources((self.path,), (self.path,), (0,))
            self._plan = scan.ScanPlan(
                sources=sources,
                format=found,
                mapping=given.mapping,
                policy=given.policy,
                levels=given.levels,
                masks=given.masks,
                gateways=given.gateways,
            )
        return self._plan

    @property
    def sources(self) -> Sources:
        """Return the file, as large as it was read."""
        return Sources((self.path,), (self.path,), (self._read_to,))


def _last_line_end(path: str, start: int, end: int) -> int:
    """Return where the last whole line before ``end`` ends; ``start`` if there is none."""
    with open(path, "rb") as file:
        at = end
        while at > start:
            back = max(start, at - 65_536)
            file.seek(back)
            found = file.read(at - back).rfind(b"\n")
            if found >= 0:
                return back + found + 1
            at = back
    return start


def watch(
    options: Options, *, progress: Report | None = None, sleep: Callable[[float], None] = time.sleep
) -> Iterator[Analysis]:
    """Yield a new analysis whenever the log has grown, until the caller stops. Raise UsageError."""
    growing = Growing(options)
    say = progress or (lambda what, done, total: None)
    while True:
        took = 0.0
        if growing.grew():
            log = growing.log()
            if log.rows:
                found = study(log, options, growing.sources, say, time.perf_counter)
                took = found.took_s
                yield found
        sleep(max(_EVERY_S, _REST * took))
