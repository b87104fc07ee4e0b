"""Take in a changed config without dropping anything; a bad one is refused and the old one stays."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Coroutine, Sequence
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
_Mark = tuple[int, int, int] | None

_EVERY_S = 1.0
# A file that is being written is looked at until it has stayed as it is for so long: half a config can be a valid one.
_SETTLED_S = 0.25

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
    except Exception as error:
        _log.exception("a bug while taking in a config")
        return f"a bug in edgeinf: {type(error).__name__}"
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


def watch_files(paths: Sequence[Path], changed: Callable[[], Awaitable[None]]) -> Coroutine[Any, Any, None]:
    """Call ``changed`` whenever one of the files has become another than it is now, for ever."""
    return _watch(paths, [_mark(path) for path in paths], changed)


async def _watch(paths: Sequence[Path], before: list[_Mark], changed: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(_EVERY_S)
        now = [_mark(path) for path in paths]
        if now == before:
            continue
        while True:
            await asyncio.sleep(_SETTLED_S)
            later = [_mark(path) for path in paths]
            if later == now:
                break
            now = later
        before = now
        await changed()


def _mark(path: Path) -> _Mark:
    try:
        found = os.stat(path)  # follows links, so that a swapped link counts as a change
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
