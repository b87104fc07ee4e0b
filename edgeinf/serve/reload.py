"""Take in a changed config without dropping anything; a bad one is refused and the old one stays."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from edgeinf.core.config.schema import Config
from edgeinf.core.errors import EdgeinfError
from edgeinf.core.redact import redact
from edgeinf.serve.generation import make_generation
from edgeinf.serve.runtime import Runtime

__all__ = ["Load", "apply_config", "needs_restart", "read_config", "watch_files"]

_log = logging.getLogger("edgeinf.reload")

Load = Callable[[], Config]

_EVERY_S = 1.0

# What is set up once: sockets, stores, the event file.
_FIXED: dict[str, Callable[[Config], Any]] = {
    "listen.host": lambda c: c.listen.host,
    "listen.port": lambda c: c.listen.port,
    "listen.tls": lambda c: c.listen.tls,
    "cache.disk": lambda c: c.cache.disk,
    "cache.shared": lambda c: c.cache.shared,
    "cache.memory": lambda c: c.cache.memory is None,
    "limits_shared": lambda c: c.limits_shared,
    "events": lambda c: c.events,
}


async def read_config(load: Load) -> Config | str:
    """Return the config as it is now, or why it cannot be used."""
    try:
        return await asyncio.to_thread(load)
    except EdgeinfError as error:
        return redact(error.message)
    except Exception as error:  # whatever a file holds, the server that runs must go on
        _log.exception("a bug while reading the config")
        return f"a bug in edgeinf: {type(error).__name__}"


def apply_config(runtime: Runtime, config: Config) -> str | None:
    """Let the config hold from the next request on; return why it cannot. What is under way keeps the old one."""
    try:
        generation = make_generation(config)
    except EdgeinfError as error:
        return redact(error.message)
    fixed = needs_restart(runtime.generation.config, config)
    runtime.generation = generation
    runtime.regions.keep(generation.origins)
    runtime.notices.pop("reload", None)
    if fixed:
        runtime.notices["restart"] = f"{', '.join(fixed)} changed in the config, which needs a restart"
    else:
        runtime.notices.pop("restart", None)
    return None


def needs_restart(old: Config, new: Config) -> list[str]:
    """Return the settings that differ and are only read at the start."""
    return [name for name, read in _FIXED.items() if read(old) != read(new)]


async def watch_files(paths: Sequence[Path], changed: Callable[[], Awaitable[None]]) -> None:
    """Call ``changed`` whenever one of the files has become another, for ever."""
    before = [_mark(path) for path in paths]
    while True:
        await asyncio.sleep(_EVERY_S)
        now = [_mark(path) for path in paths]
        if now != before:
            before = now
            await changed()


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # follows links, so that a swapped link counts as a change
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
