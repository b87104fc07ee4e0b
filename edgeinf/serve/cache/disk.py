"""The tier that survives a restart: diskcache, bytes only, off the event loop, safe for several processes.

diskcache pickles whatever is not bytes or a number and unpickles while it fetches, so its ``Disk`` is replaced by one
that knows no such mode: a row that claims another mode is refused before anything is loaded.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from edgeinf.serve.cache.base import TierFailed, TierStats

__all__ = ["DiskTier"]

T = TypeVar("T")

_PENDING_LIMIT = 64 * 2**20  # bytes waiting to be written; beyond that an answer is not kept on disk


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

    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.chmod(path, 0o700)
    return diskcache.Cache(
        str(path),
        disk=BytesDisk,
        size_limit=max_size,
        eviction_policy="least-recently-stored",
        timeout=2.0,
        sqlite_synchronous=0,
        disk_min_file_size=64 * 1024,
        tag_index=False,
        statistics=False,
    )


class DiskTier:
    """One thread owns the cache; reads wait for it, writes are queued behind and bounded in bytes."""

    name = "disk"

    def __init__(self, path: Path, *, max_size: int) -> None:
        self._path = path
        self._max_size = max_size
        self._cache: Any = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="edgeinf-disk")
        self._pending: dict[bytes, bytes] = {}
        self._pending_bytes = 0

    async def open(self) -> None:
        """Open the directory, or raise TierFailed saying what is wrong with it."""
        await self._run(lambda cache: None)

    async def get(self, find: bytes) -> bytes | None:
        waiting = self._pending.get(find)
        if waiting is not None:
            return waiting
        found = await self._run(lambda cache: cache.get(find))
        return found if isinstance(found, bytes) else None

    async def put(self, find: bytes, raw: bytes, keep_s: float) -> None:
        if self._pending_bytes + len(raw) > _PENDING_LIMIT:
            raise TierFailed("the disk does not keep up with what is to be stored")
        self._forget_pending(find)
        self._pending[find] = raw
        self._pending_bytes += len(raw)
        try:
            await self._run(lambda cache: cache.set(find, raw, expire=None if keep_s == float("inf") else keep_s))
        finally:
            if self._pending.get(find) is raw:
                self._forget_pending(find)

    async def delete(self, find: bytes) -> None:
        self._forget_pending(find)
        await self._run(lambda cache: cache.delete(find))

    async def clear(self) -> int:
        self._pending.clear()
        self._pending_bytes = 0
        return int(await self._run(lambda cache: cache.clear()))

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

        await asyncio.get_running_loop().run_in_executor(self._thread, close)
        self._thread.shutdown(wait=True)

    def _forget_pending(self, find: bytes) -> None:
        gone = self._pending.pop(find, None)
        if gone is not None:
            self._pending_bytes -= len(gone)

    async def _run(self, work: Callable[[Any], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._guarded, work)

    def _guarded(self, work: Callable[[Any], T]) -> T:
        """Run ``work`` on the cache in its thread, translating whatever the disk does into TierFailed."""
        try:
            if self._cache is None:
                self._cache = _open(self._path, self._max_size)
            return work(self._cache)
        except TierFailed:
            raise
        except (OSError, sqlite3.Error) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise TierFailed(f"the disk cache at {self._path} cannot be used: {reason}") from None
        except Exception as error:
            name = type(error).__name__
            raise TierFailed(f"the disk cache at {self._path} cannot be used: {name}: {error}") from None
