"""Columns that wait on disk: while a log is read, keys until their level's turn, and whatever is done with until it is
looked at again. All of them together would take far more memory than any step needs at one time."""

from __future__ import annotations

import mmap
import tempfile
import weakref
from collections.abc import Iterator, MutableMapping
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Spill", "rest", "shelved"]

Column: TypeAlias = npt.NDArray[Any]

_FEW_BYTES = 1 << 16  # less is not worth a file

_maps: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


def shelved(column: Column) -> Column:
    """Return a column that lies in a temporary file nobody else sees, to be read only; a small one as it is.

    What is looked at comes into memory, until ``rest``; the file goes with the column.
    """
    if column.nbytes < _FEW_BYTES:
        return column
    with tempfile.TemporaryFile(prefix="edgeinf-") as file:
        file.write(np.ascontiguousarray(column).data)
        return _mapped(file, column.dtype)


def rest() -> None:
    """Let go of the memory of all columns on disk, where the system can."""
    advice = getattr(mmap, "MADV_DONTNEED", None)
    if advice is not None:
        for mapped in list(_maps):
            mapped.madvise(advice)


def _mapped(file: IO[bytes], kind: Any) -> Column:
    file.flush()
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    _maps.add(mapped)
    return np.frombuffer(mapped, kind)


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
        return self._read(self._files[name], name)

    def _read(self, file: IO[bytes], name: str) -> Column:
        kind = self._types[name]
        column = np.empty(file.seek(0, 2) // kind.itemsize, kind)
        file.seek(0)
        file.readinto(column.data)  # type: ignore[attr-defined]  # every binary file that can be read has it
        return column

    def take(self, name: str) -> Column | None:
        """Return a column as ``shelved`` does and forget it; None where there is none."""
        if name not in self._files:
            return None
        with self._files.pop(name) as file:
            return self._read(file, name) if file.seek(0, 2) < _FEW_BYTES else _mapped(file, self._types[name])

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
