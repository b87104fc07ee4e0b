"""The tier that survives a restart: diskcache, bytes only, off the event loop, safe for several processes.

diskcache pickles whatever is not bytes or a number and unpickles while it fetches, so its ``Disk`` is replaced by one
that knows no such mode: a row that claims another mode is refused before anything is loaded.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from edgeinf.serve.cache.base import TierFailed, TierStats
from edgeinf.serve.cache.presence import Presence

__all__ = ["DiskTier"]

T = TypeVar("T")

# Larger values are files of their own.
_IN_FILES = 64 * 1024
# Rows per statement; some builds of SQLite take 999 values.
_ROWS = 128
# diskcache's table, version 5.
_COLUMNS = "key, raw, store_time, expire_time, access_time, access_count, tag, size, mode, filename, value"


def _open(path: Path, max_size: int) -> Any:
    import diskcache
    from diskcache.core import MODE_BINARY, MODE_RAW, UNKNOWN

    class BytesDisk(diskcache.Disk):  # type: ignore[misc]  # diskcache ships no types
        """Stores bytes under bytes and refuses every other mode."""

        def put(self, key: Any) -> tuple[Any, bool]:
            return sqlite3.Binary(bytes(key)), True

        def get(self, key: Any, raw: Any) -> Any:
            if not raw or not isinstance(key, bytes):
                raise TierFailed("the disk cache holds a key that edgeinf did not write")
            return key

        def store(self, value: Any, read: bool, key: Any = UNKNOWN) -> Any:
            if read or not isinstance(value, bytes):
                raise TypeError("only bytes are stored")
            return super().store(value, read, key=key)

        def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
            if mode not in (MODE_RAW, MODE_BINARY) or read:
                raise TierFailed("the disk cache holds a value that edgeinf did not write")
            return super().fetch(mode, filename, value, read)

    class BatchCache(diskcache.Cache):  # type: ignore[misc]
        """Sets many at a time. Each statement hands the interpreter over and back, which its other threads feel."""

        def set_many(self, items: Sequence[tuple[bytes, bytes, float | None]]) -> None:
            inline = [item for item in items if len(item[1]) < _IN_FILES]
            with self.transact(retry=True):
                for find, raw, keep_s in items:
                    if len(raw) >= _IN_FILES:
                        self.set(find, raw, expire=keep_s)
                rows = [inline[start : start + _ROWS] for start in range(0, len(inline), _ROWS)]
                replaced = [name for some in rows for name in self._set_inline(some)]
            for name in replaced:
                self._disk.remove(name)

        def _set_inline(self, items: Sequence[tuple[bytes, bytes, float | None]]) -> list[str]:
            """Do as ``set`` does for values that stand in the table; return the files of what they replace."""
            now = time.time()
            finds = [find for find, _, _ in items]
            held = f"key IN ({','.join('?' * len(finds))}) AND raw = 1"
            replaced = self._sql(f"SELECT filename FROM Cache WHERE {held} AND filename IS NOT NULL", finds).fetchall()
            self._sql(f"DELETE FROM Cache WHERE {held}", finds)
            rows = ",".join(["(?, 1, ?, ?, ?, 0, NULL, 0, ?, NULL, ?)"] * len(items))
            values: list[Any] = []
            for find, raw, keep_s in items:
                values += (find, now, None if keep_s is None else now + keep_s, now, MODE_RAW, raw)
            self._sql(f"INSERT INTO Cache ({_COLUMNS}) VALUES {rows}", values)
            return [name for (name,) in replaced]

    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.chmod(path, 0o700)
    return BatchCache(
        str(path),
        disk=BytesDisk,
        size_limit=max_size,
        eviction_policy="least-recently-stored",
        cull_limit=0,  # not after each entry, but after each batch
        timeout=2.0,
        sqlite_synchronous=0,
        sqlite_mmap_size=0,  # the system caches the file anyway; mapped, it would count as this process's memory
        sqlite_cache_size=1024,  # pages of 4 KiB
        disk_min_file_size=_IN_FILES,
        tag_index=False,
        statistics=False,
    )


class DiskTier:
    """One thread owns the cache. A miss rarely asks it: :mod:`edgeinf.serve.cache.presence` knows what is not there."""

    name = "disk"

    def __init__(self, path: Path, *, max_size: int) -> None:
        self._path = path
        self._max_size = max_size
        self._cache: Any = None
        self._presence: Presence | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="edgeinf-disk")

    async def open(self) -> None:
        """Open the directory, or raise TierFailed saying what is wrong with it."""
        await self._run(lambda cache: None)

    async def get(self, find: bytes) -> bytes | None:
        presence = self._presence
        if presence is not None and not presence.may_hold(find):
            return None
        found = await self._run(lambda cache: cache.get(find))
        return found if isinstance(found, bytes) else None

    async def put(self, items: Sequence[tuple[bytes, bytes, float]]) -> None:
        def write(cache: Any) -> None:
            cache.set_many([(find, raw, None if math.isinf(keep_s) else keep_s) for find, raw, keep_s in items])
            cache.cull(retry=True)
            if self._presence is not None:
                self._presence.add(find for find, _, _ in items)

        await self._run(write)

    async def delete(self, find: bytes) -> None:
        await self._run(lambda cache: cache.delete(find))

    async def clear(self) -> int:
        def clear(cache: Any) -> int:
            count = int(cache.clear())
            if self._presence is not None:
                self._presence.clear()
            return count

        return await self._run(clear)

    async def scan(self) -> list[bytes]:
        return await self._run(lambda cache: [bytes(key) for key in cache])

    async def stats(self) -> TierStats:
        entries, size = await self._run(lambda cache: (len(cache), int(cache.volume())))
        return TierStats(name=self.name, entries=entries, size_bytes=size, max_size_bytes=self._max_size)

    async def aclose(self) -> None:
        def close() -> None:
            if self._cache is not None:
                self._cache.close()
                self._cache = None
            presence, self._presence = self._presence, None
            if presence is not None:
                presence.close()

        await asyncio.get_running_loop().run_in_executor(self._thread, close)
        self._thread.shutdown(wait=True)

    async def _run(self, work: Callable[[Any], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._guarded, work)

    def _guarded(self, work: Callable[[Any], T]) -> T:
        """Run ``work`` on the cache in its thread, translating whatever the disk does into TierFailed."""
        try:
            if self._cache is None:
                self._cache = _open(self._path, self._max_size)
                self._presence = self._know(self._cache)
            return work(self._cache)
        except TierFailed:
            raise
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError | sqlite3.ProgrammingError):
                raise TierFailed(f"the disk cache at {self._path} cannot be used: {error}") from None
            raise TierFailed(f"the disk cache at {self._path} is damaged ({error}); {self._set_aside()}") from None
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise TierFailed(f"the disk cache at {self._path} cannot be used: {reason}") from None
        except Exception as error:
            name = type(error).__name__
            raise TierFailed(f"the disk cache at {self._path} cannot be used: {name}: {error}") from None

    def _set_aside(self) -> str:
        """Move a damaged cache out of the way, so that the next use begins a new one; return what was done."""
        cache, self._cache, self._presence = self._cache, None, None
        if cache is not None:
            with contextlib.suppress(Exception):  # it is damaged; whatever closing it says is known already
                cache.close()
        aside = self._path.with_name(self._path.name + ".damaged")
        try:
            shutil.rmtree(aside, ignore_errors=True)
            self._path.rename(aside)
        except OSError as error:
            return f"it cannot be moved aside: {error.strerror}"
        return f"it is kept as {aside} and a new one begins"

    def _know(self, cache: Any) -> Presence | None:
        """Return what is known to be absent; without its file every miss asks the disk, which is slower and right."""
        try:
            presence = Presence(self._path / "presence.bits")
        except OSError:
            return None
        if presence.fresh:
            presence.add(bytes(key) for key in cache)
        return presence
