"""Read a log once, with every core it pays to use, into columns."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
from array import array
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.pool import Pool
from typing import Any, Self, TypeVar

import msgspec

from edgeinf.analyze.coarse import coarse_levels
from edgeinf.analyze.columns import Batch, Builder
from edgeinf.analyze.interpret import Interpreter
from edgeinf.analyze.readers import by_name
from edgeinf.analyze.readers.base import AnyReader, LineReader, WholeReader
from edgeinf.analyze.record import Damaged, NotARequest, Record, call_of, quick
from edgeinf.analyze.source import Chunk, Sources, chunks, lines_of
from edgeinf.core.cacheable import CachePolicy

__all__ = [
    "Crew",
    "Rows",
    "ScanPlan",
    "Scanner",
    "batches",
    "default_workers",
    "prepare",
    "reader_of",
    "records_of_chunk",
    "records_of_rows",
]

# Below this a second process costs more than it brings: starting one takes as long as reading about this much.
_PARALLEL_BYTES = 24 * 2**20
_WHOLE_ROWS = 4_096
_SERVED = "forkserver" in multiprocessing.get_all_start_methods()

Task = TypeVar("Task")
Found = TypeVar("Found")


class ScanPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a worker needs to know."""

    sources: Sources
    format: str
    mapping: dict[str, str] = {}
    policy: CachePolicy = CachePolicy()
    levels: tuple[str, ...] = ()
    masks: tuple[str, ...] | None = None
    gateways: tuple[str, ...] = ()
    coarse: bool = False  # keys after ``safe`` are fingerprints, which ``settle`` makes keys of where it matters

    @property
    def keyed(self) -> tuple[str, ...]:
        """Return the names of all keys that are read."""
        coarse = coarse_levels(self.levels, self.masks) if self.coarse else []
        return tuple(rule.name for rule in coarse) or self.levels


class Rows(msgspec.Struct, frozen=True):
    """Some rows of a chunk: where the line of each begins, and which of the line's rows it is."""

    chunk: Chunk
    places: list[tuple[int, int]]


def reader_of(plan: ScanPlan) -> AnyReader:
    """Return the plan's reader, with its field mapping if there is one."""
    if plan.mapping:
        from edgeinf.analyze.readers.access import Access

        return Access(plan.mapping)
    return by_name(plan.format)


def prepare(files: Iterable[str]) -> None:
    """Begin to start what makes workers, if these files are large: it takes as long as to import the rest."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # nothing here needs its threads, which begin by spinning
    if sum(os.path.getsize(file) for file in files if os.path.isfile(file)) >= _PARALLEL_BYTES and _SERVED:
        _context()
        from multiprocessing.forkserver import ensure_running

        ensure_running()


def _context() -> Any:
    """Return a way to make processes. A fork of this one would copy whatever threads and locks it has by now; a server
    that has only what workers need makes them in no time."""
    context: Any = multiprocessing.get_context("forkserver" if _SERVED else "spawn")
    if _SERVED:
        context.set_forkserver_preload([__name__])
    return context


class _Workers(Pool):
    """Processes that are looked after when one of them ends. The standard ones are whenever a result is about to be
    read, over and over until it is, which takes a tenth of a core from the processes that make results."""

    def _get_sentinels(self) -> list[Any]:
        return [self._change_notifier._reader]  # type: ignore[attr-defined]  # which tells of the end of all work


class Crew:
    """The processes that read a log: as many as asked for, or this one where that is faster. A context manager."""

    def __init__(self, plan: ScanPlan, workers: int) -> None:
        self.plan = plan
        self._workers = workers if plan.sources.size >= _PARALLEL_BYTES else 1
        self._pool: Any = None
        self._scanner: Scanner | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.dismiss()

    def _start(self) -> None:
        self._pool = _Workers(self._workers, _start, (self.plan,), context=_context())

    def renew(self) -> None:
        """Put new processes in the place of those that work, without what these remember."""
        if self._pool is not None:
            self.dismiss()
            self._start()

    def dismiss(self) -> None:
        """End the other processes, whose memory may be wanted."""
        if self._pool is not None:
            self._pool.terminate()
            self._pool.join()
            self._pool = None

    def each(self, work: Callable[[Scanner, Task], Found], tasks: Iterable[Task]) -> Iterator[Found]:
        """Return what ``work``, a function of a module, makes of each task, in their order.

        Other processes begin at once, and go on while this one does something else; in this one it is done on demand.
        """
        if self._workers < 2:
            scanner = self._scanner = self._scanner or Scanner(self.plan)
            return (work(scanner, task) for task in tasks)
        if self._pool is None:
            self._start()
        found: Iterator[Found] = self._pool.imap(_work, [(work, task) for task in tasks])
        return found


def batches(crew: Crew, progress: Callable[[int], None] | None = None) -> Iterator[Batch]:
    """Yield the columns of each chunk in the order of the log, with the bytes read so far reported.

    When all is read, the crew begins anew, without what it remembers of it.
    """
    plan = crew.plan
    reader = reader_of(plan)
    if not isinstance(reader, LineReader):
        yield from _whole(plan, reader)
        return
    done = 0
    for batch in crew.each(Scanner.chunk, chunks(plan.sources)):
        done += batch.read_bytes
        if progress is not None:
            progress(done)
        yield batch
    crew.renew()


def _whole(plan: ScanPlan, reader: WholeReader) -> Iterator[Batch]:
    """Read a format that must be seen as a whole; a row's offset is then its number."""
    interpreter = _interpreter(plan)
    keyed = plan.keyed
    builder, number = Builder(keyed, plan.gateways), 0
    for record in reader.read_files(plan.sources.paths):
        if isinstance(record, Record):
            builder.add(record, interpreter.meaning(record), number)
            number += 1
        else:
            builder.skip(record)
        if builder.rows >= _WHOLE_ROWS:
            yield builder.batch(0)
            builder = Builder(keyed, plan.gateways)
    yield builder.batch(plan.sources.size)


class Scanner:
    """Turns chunks into columns; lives in a worker."""

    def __init__(self, plan: ScanPlan) -> None:
        reader = reader_of(plan)
        assert isinstance(reader, LineReader)
        self._plan = plan
        self._keyed = plan.keyed
        self._reader = reader
        self._interpreter = _interpreter(plan)
        self._settling: Interpreter | None = None

    def chunk(self, chunk: Chunk) -> Batch:
        """Return the columns of one chunk."""
        builder = Builder(self._keyed, self._plan.gateways)
        meaning, add = self._interpreter.meaning, builder.add
        for offset, record in records_of_chunk(self._reader, self._plan.sources.paths[chunk.source], chunk):
            if isinstance(record, Record):
                add(record, meaning(record), offset)
            else:
                builder.skip(record)
        return builder.batch(chunk.end - chunk.start, chunk)

    def settled(self, task: tuple[Rows, list[tuple[str, ...]]]) -> bytes:
        """Return the keys of some rows of one part each, as 64-bit words, row by row: those of each row's levels."""
        rows, levels = task
        if self._settling is None:
            self._settling = Interpreter(self._plan.policy, self._plan.levels, self._plan.masks)
        key_at = self._settling.key_at
        found = array("Q")
        for record, names in zip(self.records(rows), levels, strict=True):
            raw = record.request
            # Only what the strict parser takes has keys, and of that the quick one makes the same.
            call = call_of(record, quick(raw) if isinstance(raw, bytes) else None)
            found.extend([0 if call is None else key_at(call, name) for name in names])
        return found.tobytes()

    def records(self, rows: Rows) -> Iterator[Record]:
        """Read some rows again, in their order."""
        return records_of_rows(self._reader, self._plan.sources.paths[rows.chunk.source], rows)


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


def records_of_rows(reader: LineReader, path: str, rows: Rows) -> Iterator[Record]:
    """Read single rows of one chunk again; several rows may come from one line."""
    with open(path, "rb") as file:
        for offset, number in rows.places:
            file.seek(rows.chunk.start + offset)
            found = reader.read_line(file.readline().rstrip(b"\n"))
            yield found if isinstance(found, Record) else found[number]


def _interpreter(plan: ScanPlan) -> Interpreter:
    return Interpreter(plan.policy, plan.levels, plan.masks, plan.gateways, coarse=plan.coarse)


_scanner: Scanner | None = None


def _start(plan: ScanPlan) -> None:
    """Prepare a worker; Ctrl-C is the parent's to handle."""
    global _scanner
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.disable()  # parsed bodies have no cycles; what exceptions leave is collected after each chunk
    _scanner = Scanner(plan)


def _work(job: tuple[Callable[[Scanner, Task], Found], Task]) -> Found:
    assert _scanner is not None
    work, task = job
    found = work(_scanner, task)
    gc.collect(1)
    return found


def default_workers() -> int:
    """Return how many processes may read at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
