"""Columns that wait on disk: keys are asked for one level at a time, and those of all levels together take as much
memory as the rest of a log."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, MutableMapping
from typing import IO

import numpy as np

from edgeinf.analyze.dense import Hashes

__all__ = ["Spill"]


class Spill(MutableMapping[str, Hashes]):
    """Columns of 64-bit words by name, each in a temporary file that nobody else sees. Each look reads it anew."""

    def __init__(self) -> None:
        self._files: dict[str, IO[bytes]] = {}
        weakref.finalize(self, _close, self._files)

    def append(self, name: str, words: bytes) -> None:
        """Add to the end of a column."""
        self._file(name).write(words)

    def __getitem__(self, name: str) -> Hashes:
        file = self._files[name]
        column = np.empty(file.seek(0, 2) // 8, np.uint64)
        file.seek(0)
        file.readinto(column.data)  # type: ignore[attr-defined]  # every binary file that can be read has it
        return column

    def __setitem__(self, name: str, column: Hashes) -> None:
        file = self._file(name)
        file.seek(0)
        file.truncate()
        file.write(np.ascontiguousarray(column).data)

    def __delitem__(self, name: str) -> None:
        self._files.pop(name).close()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._files))

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, name: object) -> bool:
        return name in self._files  # without a look at the column

    def _file(self, name: str) -> IO[bytes]:
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = tempfile.TemporaryFile(prefix="edgeinf-")  # noqa: SIM115 (closed by name)
        return file


def _close(files: dict[str, IO[bytes]]) -> None:
    for file in files.values():
        file.close()
