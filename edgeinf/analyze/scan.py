"""Read a log once, with every core it pays to use, into columns."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence

import msgspec

from edgeinf.analyze.columns import Batch, Builder
from edgeinf.analyze.interpret import Interpreter
from edgeinf.analyze.readers import by_name
from edgeinf.analyze.readers.base import LineReader, Reader
from edgeinf.analyze.record import Damaged, NotARequest, Record
from edgeinf.analyze.source import Chunk, Sources, chunks, lines_of
from edgeinf.core.cacheable import CachePolicy

__all__ = [
    "ScanPlan",
    "Scanner",
    "batches",
    "default_workers",
    "reader_of",
    "records_of_chunk",
    "records_of_files",
    "splittable",
]

# Below this a second process costs more than it brings: starting one takes as long as reading about this much.
_PARALLEL_BYTES = 24 * 2**20
_WHOLE_ROWS = 4_096


class ScanPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a worker needs to know."""

    sources: Sources
    format: str
    mapping: dict[str, str] = {}
    policy: CachePolicy = CachePolicy()
    levels: tuple[str, ...] = ()
    masks: tuple[str, ...] | None = None
    gateways: tuple[str, ...] = ()


def reader_of(plan: ScanPlan) -> Reader:
    """Return the plan's reader, with its field mapping if there is one."""
    if plan.mapping:
        from edgeinf.analyze.readers.access import Access

        return Access(plan.mapping)
    return by_name(plan.format)


def splittable(reader: Reader) -> bool:
    """Return whether each line of the format stands for itself."""
    return hasattr(reader, "read_line")


def batches(plan: ScanPlan, *, workers: int, progress: Callable[[int], None] | None = None) -> Iterator[Batch]:
    """Yield the columns of each chunk in the order of the log, with the bytes read so far reported."""
    reader = reader_of(plan)
    if not splittable(reader):
        yield from _whole(plan, reader)
        return
    done = 0
    for batch in _chunked(plan, workers):
        done += batch.read_bytes
        if progress is not None:
            progress(done)
        yield batch


def _chunked(plan: ScanPlan, workers: int) -> Iterator[Batch]:
    parts = list(chunks(plan.sources))
    if workers < 2 or plan.sources.size < _PARALLEL_BYTES:
        scanner = Scanner(plan)
        for chunk in parts:
            yield scanner.chunk(chunk)
        return
    # Fresh interpreters: a fork would copy whatever threads and locks this process has by now.
    context = multiprocessing.get_context("spawn")
    with context.Pool(workers, initializer=_start, initargs=(plan,)) as pool:
        try:
            yield from pool.imap(_work, parts)
        finally:
            pool.terminate()
            pool.join()


def _whole(plan: ScanPlan, reader: Reader) -> Iterator[Batch]:
    """Read a format that must be seen as a whole; a row's offset is then its number."""
    interpreter = _interpreter(plan)
    builder, number = Builder(plan.levels, plan.gateways), 0
    for record in records_of_files(reader, plan.sources.paths):
        if isinstance(record, Record):
            builder.add(record, interpreter.meaning(record), number)
            number += 1
        else:
            builder.skip(record)
        if builder.rows >= _WHOLE_ROWS:
            yield builder.batch(0)
            builder = Builder(plan.levels, plan.gateways)
    yield builder.batch(plan.sources.size)


class Scanner:
    """Turns chunks into columns; lives in a worker."""

    def __init__(self, plan: ScanPlan) -> None:
        reader = reader_of(plan)
        self._plan = plan
        self._reader: LineReader = reader  # type: ignore[assignment]  # splittable() was asked
        self._interpreter = _interpreter(plan)

    def chunk(self, chunk: Chunk) -> Batch:
        """Return the columns of one chunk."""
        builder = Builder(self._plan.levels, self._plan.gateways)
        meaning, add = self._interpreter.meaning, builder.add
        for offset, record in records_of_chunk(self._reader, self._plan.sources.paths[chunk.source], chunk):
            if isinstance(record, Record):
                add(record, meaning(record), offset)
            else:
                builder.skip(record)
        return builder.batch(chunk.end - chunk.start, chunk)


def records_of_chunk(
    reader: LineReader, path: str, chunk: Chunk
) -> Iterator[tuple[int, Record | Damaged | NotARequest]]:
    """Yield (offset in the chunk, record or fault)."""
    read = reader.read_line
    for offset, line in lines_of(path, chunk.start, chunk.end):
        try:
            found = read(line)
        except (Damaged, NotARequest) as fault:
            yield offset, fault
            continue
        if isinstance(found, Record):
            yield offset, found
        else:
            for record in found:
                yield offset, record


def records_of_files(reader: Reader, paths: Sequence[str]) -> Iterator[Record | Damaged | NotARequest]:
    """Yield what a format that must be seen as a whole holds."""
    read = reader.read_files  # type: ignore[attr-defined]  # splittable() was asked
    yield from read(paths)


def _interpreter(plan: ScanPlan) -> Interpreter:
    return Interpreter(plan.policy, plan.levels, plan.masks, plan.gateways)


_scanner: Scanner | None = None


def _start(plan: ScanPlan) -> None:
    """Prepare a worker; Ctrl-C is the parent's to handle."""
    global _scanner
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # parsed bodies have no cycles; what exceptions leave is collected after each chunk
    _scanner = Scanner(plan)


def _work(chunk: Chunk) -> Batch:
    assert _scanner is not None
    batch = _scanner.chunk(chunk)
    gc.collect(1)
    return batch


def default_workers() -> int:
    """Return how many processes may read at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
