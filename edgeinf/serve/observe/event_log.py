"""Write one line per request to a file, in batches, on a thread; a request never waits for it.

Up to ``QUEUE_LIMIT`` events wait in memory; beyond that they are counted as dropped. ``close`` writes all that wait.
"""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from pathlib import Path

from edgeinf.core import events
from edgeinf.core.events import Event

__all__ = ["QUEUE_LIMIT", "EventLog"]

_log = logging.getLogger("edgeinf.events")

QUEUE_LIMIT = 100_000
_EVERY_S = 0.25


class EventLog:
    """Appends events to ``path``, rotating it at ``rotate_bytes`` and keeping ``keep`` older files."""

    def __init__(self, path: Path | None, *, rotate_bytes: int, keep: int) -> None:
        self._path = path
        self._rotate_bytes = rotate_bytes
        self._keep = keep
        self._queue: deque[Event] = deque()
        self._wake = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self.dropped = 0
        self.failed: str | None = None

    def put(self, event: Event) -> None:
        """Queue an event; cheap, and never blocks."""
        if self._path is None:
            return
        if len(self._queue) >= QUEUE_LIMIT:
            self.dropped += 1
            return
        self._queue.append(event)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="edgeinf-events", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Write everything that waits and stop."""
        self._closed = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
            self._thread = None

    def _run(self) -> None:
        while not self._closed:
            self._wake.wait(_EVERY_S)
            self._write()
        self._write()

    def _write(self) -> None:
        batch = [self._queue.popleft() for _ in range(len(self._queue))]
        if not batch or self._path is None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            with os.fdopen(descriptor, "ab", buffering=0) as file:
                # One write per batch with O_APPEND, so that several processes may share the file.
                file.write(b"".join(map(events.encode, batch)))
                size = file.tell()
            if size >= self._rotate_bytes:
                self._rotate()
            self.failed = None
        except OSError as error:
            self.dropped += len(batch)
            if self.failed is None:
                _log.warning("cannot write events to %s: %s", self._path, error.strerror or error)
            self.failed = error.strerror or str(error)

    def _rotate(self) -> None:
        assert self._path is not None
        if self._keep == 0:
            self._path.unlink(missing_ok=True)
            return
        for number in range(self._keep - 1, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            if older.exists():
                older.replace(self._path.with_name(f"{self._path.name}.{number + 1}"))
        self._path.replace(self._path.with_name(f"{self._path.name}.1"))
