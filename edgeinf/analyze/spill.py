"""Columns that wait on disk while a log is read, and keys until their level's turn: those of all levels together take
as much memory as the rest of a log."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, MutableMapping
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Spill"]

Column: TypeAlias = npt.NDArray[Any]


class Spill(MutableMapping[str, Column]):
    """Columns by name, each in a temporary file that nobody else sees. Each look reads it anew."""

    def __init__(self) -> None:
        self._files: dict[str, IO[bytes]] = {}
        self._types: dict[str, Any] = {}
        weakref.finalize(self, _close, self._files)

    def append(self, name: str, data: bytes, kind: Any = np.uint64) -> None:
        """Add to the end of a column whose numbers are of a kind."""
        self._file(name, kind).write(data)

    def __getitem__(self, name: str) -> Column:
        file, kind = self._files[name], self._types[name]
        column = np.empty(file.seek(0, 2) // kind.itemsize, kind)
        file.seek(0)
        file.readinto(column.data)  # type: ignore[attr-defined]  # every binary file that can be read has it
        return column

    def __setitem__(self, name: str, column: Column) -> None:
        file = self._file(name, column.dtype)
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

    def _file(self, name: str, kind: Any) -> IO[bytes]:
        self._types[name] = np.dtype(kind)
        file = self._files.get(name)
        if file is None:
            file = self._files[name] = tempfile.TemporaryFile(prefix="edgeinf-")  # noqa: SIM115 (closed by name)
        return file


def _close(files: dict[str, IO[bytes]]) -> None:
    for file in files.values():
        file.close()
