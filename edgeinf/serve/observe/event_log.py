"""Write one line per request to a file, in batches, on a thread; a request never waits for it.

Up to ``QUEUE_LIMIT`` events wait in memory, also while the file cannot be written; beyond that they are counted as
dropped. ``close`` writes all that wait. Several processes may share one file: each batch is one append of whole lines,
and whoever finds the file too large rotates it under a lock.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from edgeinf.core import events
from edgeinf.core.events import Event

__all__ = ["QUEUE_LIMIT", "EventLog"]

_log = logging.getLogger("edgeinf.events")

QUEUE_LIMIT = 100_000
_EVERY_S = 0.25
# Lines per write: encoding holds the interpreter's lock, and requests should not feel that.
_BATCH = 200
_LAST_CHANCE_S = 5.0


class EventLog:
    """Appends events to ``path``, rotating it at ``rotate_bytes`` and keeping ``keep`` older files (0: none).

    ``prepare`` sees each event on the writing thread before it is encoded, to redact what it holds.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        rotate_bytes: int,
        keep: int,
        prepare: Callable[[Event], Event] | None = None,
        queue_limit: int = QUEUE_LIMIT,
    ) -> None:
        self.path = path
        self.dropped = 0
        self.written = 0
        self.failed: str | None = None
        self._rotate_bytes = rotate_bytes
        self._keep = keep
        self._prepare = prepare
        self._limit = queue_limit
        self._queue: deque[Event] = deque()
        self._wake = threading.Event()
        self._closed = False
        self._broken = True  # the file may end within a line: after a crash, or after a write that failed half way
        self._thread: threading.Thread | None = None

    @property
    def waiting(self) -> int:
        """How many events wait to be written."""
        return len(self._queue)

    def put(self, event: Event) -> None:
        """Queue an event; cheap, and never blocks."""
        if self.path is None:
            return
        if self._closed or len(self._queue) >= self._limit:
            self.dropped += 1
            return
        self._queue.append(event)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="edgeinf-events", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Write everything that waits and stop; what cannot be written within seconds is counted as dropped."""
        self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=2 * _LAST_CHANCE_S)
            self._thread = None
        if self._queue:
            self.dropped += len(self._queue)
            _log.warning("%d events could not be written to %s", len(self._queue), self.path)
            self._queue.clear()

    # --- on the thread ---

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait(_EVERY_S)
            self._write_all()
        end = time.monotonic() + _LAST_CHANCE_S
        while not self._write_all() and time.monotonic() < end:
            time.sleep(0.05)

    def _write_all(self) -> bool:
        """Write what waits; False where the file cannot be written, and then the events keep waiting."""
        while self._queue:
            batch = [self._queue.popleft() for _ in range(min(_BATCH, len(self._queue)))]
            try:
                self._write(batch)
            except OSError as error:
                self._queue.extendleft(reversed(batch))
                reason = error.strerror or str(error)
                if self.failed is None:
                    _log.warning("cannot write events to %s: %s", self.path, reason)
                self.failed = reason
                return False
            self.failed = None
        return True

    def _write(self, batch: list[Event]) -> None:
        """Append a batch; on return ``batch`` is written, and on OSError it holds what is not."""
        assert self.path is not None
        prepare = self._prepare
        lines = [events.encode(event if prepare is None else prepare(event)) for event in batch]
        with _locked(self.path) as descriptor:
            if self._broken and not _ends_whole(descriptor):
                os.write(descriptor, b"\n")
            self._broken = False
            data = b"".join(lines)
            done = os.write(descriptor, data)
            while done < len(data):  # a full disk takes a part first and refuses the rest
                try:
                    done += os.write(descriptor, data[done:])
                except OSError:
                    self._broken = True
                    whole = data[:done].count(b"\n")
                    self.written += whole
                    del batch[:whole]
                    raise
            self.written += len(batch)
            if os.fstat(descriptor).st_size >= self._rotate_bytes:
                with contextlib.suppress(OSError):  # the next batch tries again
                    self._rotate(self.path)

    def _rotate(self, path: Path) -> None:
        if self._keep == 0:
            path.unlink()
            return
        for number in range(self._keep - 1, 0, -1):
            older = path.with_name(f"{path.name}.{number}")
            if older.exists():
                older.replace(path.with_name(f"{path.name}.{number + 1}"))
        path.replace(path.with_name(f"{path.name}.1"))


def _ends_whole(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    return size == 0 or os.pread(descriptor, 1, size - 1) == b"\n"


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[int]:
    """Open the file for appending and hold it alone; what another process has rotated away is opened anew."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if _same(descriptor, path):
                yield descriptor
                return
        finally:
            os.close(descriptor)


def _same(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
