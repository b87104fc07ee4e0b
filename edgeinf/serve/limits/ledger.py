"""Money that was spent is not forgotten with the process: budgets are kept in a file beside the events.

Only budgets are: a bucket of requests or tokens is full again within minutes, and a slot ends with its call.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from pathlib import Path

import msgspec

from edgeinf.core.config.schema import Config
from edgeinf.serve.limits.local import LocalLimiter

__all__ = ["Ledger", "ledger_for"]

_log = logging.getLogger("edgeinf.limits")

# How often what was spent is written; a process that is killed forgets as much.
_EVERY_S = 5.0


def ledger_for(config: Config, limiter: object) -> Ledger | None:
    """Return the ledger of a limiter's budgets; None where there are none, or they are counted elsewhere."""
    if not isinstance(limiter, LocalLimiter) or config.limits_shared is not None:
        return None
    if all(limit.budget is None for limit in config.limits):
        return None
    folder = config.events.file.parent if config.events.file is not None else None
    if folder is None and config.cache.disk is not None:
        folder = config.cache.disk.path
    return None if folder is None else Ledger(folder / "budgets.json", limiter)


class Ledger:
    """A file of what was spent in the present periods."""

    def __init__(self, path: Path, limiter: LocalLimiter) -> None:
        self._path = path
        self._limiter = limiter
        self._written: dict[str, object] | None = None
        self._failed = ""

    def load(self) -> None:
        """Take back what an earlier process spent. A file that cannot be read is said and left behind."""
        try:
            self._limiter.restore(msgspec.json.decode(self._path.read_bytes()))
        except FileNotFoundError:
            return
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            _log.warning("cannot read what was spent from %s, so budgets begin at 0: %s", self._path, error)

    def save(self) -> None:
        """Write what was spent, if it changed; the file is always the old one or the new one."""
        purses = self._limiter.purses()
        if purses == self._written:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(purses))
            fresh.replace(self._path)
            self._written, self._failed = purses, ""
        except OSError as error:
            if self._failed != str(error):
                _log.warning("cannot write what was spent to %s: %s", self._path, error)
            self._failed = str(error)

    async def keep(self) -> None:
        """Save every few seconds until cancelled, and then once more."""
        with contextlib.suppress(asyncio.CancelledError):
            while True:
                await asyncio.sleep(_EVERY_S)
                await asyncio.to_thread(self.save)
        self.save()
