"""Where a log's bytes come from: files (plain, gzip, zstd, Parquet), several of them, or standard input.

What is not a plain file is unpacked once into a temporary file, so that every later step can read any place again.
"""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import msgspec

from edgeinf.analyze import parquet
from edgeinf.core.errors import UsageError
from edgeinf.core.stdin import standard_input

__all__ = ["Chunk", "Sources", "chunks", "expand", "lines_of", "open_sources"]

CHUNK_BYTES = 2 * 2**20
_COPY_BYTES = 2**20
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


class Chunk(msgspec.Struct, frozen=True, array_like=True):
    """A run of whole lines: from ``start`` (inclusive) to ``end`` of the file with this number."""

    source: int
    start: int
    end: int


class Sources(msgspec.Struct, frozen=True):
    """The files to read, as given and as they lie on disk in the clear."""

    names: tuple[str, ...]
    paths: tuple[str, ...]
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        """Return the bytes of all files together."""
        return sum(self.sizes)


def expand(patterns: Sequence[str]) -> list[str]:
    """Return the files that the arguments name, globs in order of name. Raise UsageError where one names nothing."""
    found: list[str] = []
    for pattern in patterns:
        if pattern == "-" or os.path.exists(pattern):
            found.append(pattern)
            continue
        matches = sorted(glob.glob(pattern, recursive=True))
        if not matches:
            raise UsageError(f"there is no file {pattern!r}", hint="give a file, a glob or - for standard input")
        found += matches
    return list(dict.fromkeys(found))


def open_sources(
    patterns: Sequence[str], stack: ExitStack, *, progress: Callable[[int], None] | None = None
) -> Sources:
    """Make every input readable at any place; temporary files go when ``stack`` closes. Raise UsageError."""
    names = expand(patterns)
    paths = []
    for name in names:
        try:
            paths.append(_in_the_clear(name, stack, progress))
        except (OSError, EOFError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise UsageError(f"cannot read {name}: {reason.lower()}") from None
    return Sources(tuple(names), tuple(paths), tuple(os.path.getsize(p) for p in paths))


def _in_the_clear(name: str, stack: ExitStack, progress: Callable[[int], None] | None) -> str:
    if name != "-":
        if os.path.isdir(name):
            raise UsageError(f"{name} is a directory", hint=f"give its files, for example '{name}/*.jsonl'")
        with open(name, "rb") as file:
            head = file.read(4)
        if os.path.isfile(name) and head == parquet.MAGIC:
            return _rows(name, stack)
        if os.path.isfile(name) and not head.startswith(_GZIP) and head != _ZSTD:
            return name
    raw: IO[bytes] = standard_input() if name == "-" else stack.enter_context(open(name, "rb"))  # noqa: SIM115
    done = 0
    with _temporary(stack) as place:
        for block in _unpacked(raw):
            place.write(block)
            done += len(block)
            if progress is not None:
                progress(done)
    with open(place.name, "rb") as file:
        return _rows(place.name, stack) if file.read(4) == parquet.MAGIC else place.name


def _rows(path: str, stack: ExitStack) -> str:
    """Return a temporary file of JSON lines in the place of a Parquet file."""
    with _temporary(stack) as place:
        parquet.to_json_lines(path, place.name)
    return place.name


def _temporary(stack: ExitStack) -> IO[bytes]:
    place = tempfile.NamedTemporaryFile(prefix="edgeinf-", suffix=".log", delete=False)  # noqa: SIM115
    stack.callback(Path(place.name).unlink, missing_ok=True)
    return place


def _unpacked(raw: IO[bytes]) -> Iterator[bytes]:
    """Yield the bytes in the clear; a file cut short gives what there is."""
    first = raw.read(_COPY_BYTES)
    feed: Callable[[bytes], bytes]
    if first.startswith(_GZIP):
        yield from _gunzip(first, raw)
        return
    if first.startswith(_ZSTD):
        import zstandard

        unpacker = zstandard.ZstdDecompressor().decompressobj(read_across_frames=True)
        feed = unpacker.decompress
        try:
            while first:
                yield feed(first)
                first = raw.read(_COPY_BYTES)
        except zstandard.ZstdError as error:
            raise OSError(0, f"damaged zstd data ({error})") from None
        return
    while first:
        yield first
        first = raw.read(_COPY_BYTES)


def _gunzip(first: bytes, raw: IO[bytes]) -> Iterator[bytes]:
    import zlib

    unpacker = zlib.decompressobj(wbits=31)
    data = first
    try:
        while data:
            yield unpacker.decompress(data)
            while unpacker.eof and unpacker.unused_data.startswith(_GZIP):
                rest = unpacker.unused_data
                unpacker = zlib.decompressobj(wbits=31)
                yield unpacker.decompress(rest)
            data = raw.read(_COPY_BYTES)
    except zlib.error as error:
        raise OSError(0, f"damaged gzip data ({error})") from None


def chunks(sources: Sources, size: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """Cut every file into runs of whole lines of about ``size`` bytes."""
    for number, path in enumerate(sources.paths):
        total = sources.sizes[number]
        with open(path, "rb") as file:
            start = 0
            while start < total:
                end = start + size
                if end < total:
                    file.seek(end)
                    end += len(file.readline())
                yield Chunk(number, start, min(end, total))
                start = end


def lines_of(path: str, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Yield (offset from start, line without its end) of one chunk; blank lines are left out."""
    with open(path, "rb") as file:
        file.seek(start)
        data = file.read(end - start)
    at = 0
    for line in data.split(b"\n"):
        if line and not line.isspace():
            yield at, line
        at += len(line) + 1
