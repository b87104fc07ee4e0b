"""A whole log in columns, in the order of time."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeinf.analyze.columns import COLUMNS, COUNTS, FLOATS, Batch, Group
from edgeinf.analyze.dense import densify
from edgeinf.analyze.meaning import NO_CONTENT
from edgeinf.analyze.readers.base import LineReader, WholeReader
from edgeinf.analyze.record import Record
from edgeinf.analyze.scan import Rows, ScanPlan, reader_of, records_of_rows
from edgeinf.analyze.source import Chunk
from edgeinf.analyze.spill import Spill, shelved

__all__ = ["Log", "gather"]


class Log:
    """Requests as columns. A column that the log never fills is None."""

    def __init__(self, plan: ScanPlan) -> None:
        self.plan = plan
        self.rows = 0
        self.groups: list[Group] = []
        self.reasons: list[str] = [""]
        self.skipped: Counter[str] = Counter()
        self.unknown_levels: Counter[str] = Counter()
        self.lengths: Counter[int] = Counter()
        self.damaged = 0
        self.with_id = self.repeated_ids = 0
        self.was_sorted = True
        self.untimed = 0
        self.offset: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)  # in the files' order: never moved
        self.group: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)
        self.flags: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self.reason: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self.parts: npt.NDArray[np.uint16] | None = None
        self.at: npt.NDArray[np.float64] | None = None
        self.latency: npt.NDArray[np.float32] | None = None
        self.ttft: npt.NDArray[np.float32] | None = None
        self.running_s: npt.NDArray[np.float32] | None = None  # how long each answer took, where times are known
        self.usd: npt.NDArray[np.float32] | None = None
        self.input: npt.NDArray[np.int32] | None = None
        self.output: npt.NDArray[np.int32] | None = None
        self.cached: npt.NDArray[np.int32] | None = None
        self.cache_write: npt.NDArray[np.int32] | None = None
        self.user: npt.NDArray[np.uint32] | None = None
        self.session: npt.NDArray[np.uint32] | None = None
        self.question: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)  # equal in what is asked and what surrounds it
        self.question_group: npt.NDArray[np.uint32] = np.zeros(1, np.uint32)  # of each question: what is asked
        self.block: npt.NDArray[np.uint32] | None = None  # of all prompts' blocks in order
        self.blocks: npt.NDArray[np.uint32] | None = None  # how many blocks each request has
        self.block_tokens = 0
        self.keys = Spill()  # by level: one per part, of all requests in order
        self.gates: dict[str, npt.NDArray[np.uint64]] = {}  # other tools' keys, one per request; 0: not cached
        self.row_starts: list[int] = []  # the first row of each chunk, in the order of the files
        self.chunks: list[Chunk] = []
        self.origin: npt.NDArray[np.uint32] | None = None  # where each row stood in the files, if rows were moved

    def has(self, flag: int) -> npt.NDArray[np.bool_]:
        """Return which requests carry a flag of ``columns``."""
        return np.asarray((self.flags & np.uint8(flag)) != 0)

    @property
    def has_content(self) -> bool:
        """Return whether any request can be told from another: by its body or by the keys of an event."""
        return not self.reasons[1:] or self.reasons[1:] != [NO_CONTENT] or not bool((self.reason != 0).all())

    @property
    def keys_known(self) -> bool:
        """Return whether the log has requests, and not only sizes and hashes of them."""
        return any(group.context.dialect for group in self.groups)

    @property
    def row_of_part(self) -> npt.NDArray[np.uint32] | None:
        """Return which request each part belongs to; None where every request has one part."""
        if self.parts is None:
            return None
        return np.repeat(np.arange(self.rows, dtype=np.uint32), self.parts)

    def fetch(self, rows: npt.NDArray[Any]) -> Iterator[tuple[int, Record]]:
        """Read some requests again, yielding (row, record) in the order of the files."""
        reader = reader_of(self.plan)
        if not isinstance(reader, LineReader):
            wanted = rows if self.origin is None else self.origin[rows]
            by_place = np.argsort(wanted, kind="stable")
            places = wanted[by_place]
            yield from self._fetch_whole(reader, rows[by_place], places)
            return
        for some, which in self.rows_by_chunk(rows):
            path = self.plan.sources.paths[some.chunk.source]
            records = records_of_rows(reader, path, some)
            yield from zip((int(r) for r in rows[which]), records, strict=True)

    def rows_by_chunk(self, rows: npt.NDArray[Any]) -> Iterator[tuple[Rows, npt.NDArray[Any]]]:
        """Yield some rows of each chunk as places to read, and as the indexes into ``rows`` that they have."""
        wanted = rows if self.origin is None else self.origin[rows]
        by_place = np.argsort(wanted, kind="stable")
        places = wanted[by_place]
        starts = np.array([*self.row_starts, self.rows])
        for number, chunk in enumerate(self.chunks):
            low, high = np.searchsorted(places, starts[number]), np.searchsorted(places, starts[number + 1])
            if low < high:
                yield self._rows(number, chunk, places[low:high] - starts[number]), by_place[low:high]

    def _rows(self, number: int, chunk: Chunk, inside: npt.NDArray[Any]) -> Rows:
        offsets = self.offset[self.row_starts[number] :]
        found = []
        for row in inside.tolist():
            at = int(offsets[row])
            first = row
            while first > 0 and int(offsets[first - 1]) == at:
                first -= 1
            found.append((at, row - first))
        return Rows(chunk, found)

    def _fetch_whole(self, reader: WholeReader, rows: Any, places: Any) -> Iterator[tuple[int, Record]]:
        wanted = dict(zip(places.tolist(), rows.tolist(), strict=True)) if len(places) else {}
        number = 0
        for record in reader.read_files(self.plan.sources.paths):
            if isinstance(record, Record):
                if number in wanted:
                    yield wanted[number], record
                number += 1


class _Columns:
    """Columns that grow with each chunk; until all are read, the memory is the workers'."""

    def __init__(self) -> None:
        self.rows = 0
        self._held = Spill()

    def add(self, rows: int, columns: dict[str, bytes]) -> None:
        """Add the rows of one chunk; what it leaves out is filled, but for blocks, of which rows have any number."""
        for name in dict.fromkeys((*self._held, *columns)):
            kind, absent = _kind(name)
            filling = b"" if name == "block" else array(kind, [absent]).tobytes()
            if name not in self._held:
                self._held.append(name, filling * self.rows, kind)
            self._held.append(name, columns.get(name, filling * rows), kind)
        self.rows += rows

    def take(self, name: str) -> Any:
        """Return a column, to be read only, and forget it; None where no chunk has it."""
        return self._held.take(name)

    def names(self) -> list[str]:
        """Return the columns that are still held."""
        return list(self._held)


def gather(plan: ScanPlan, batches: Iterator[Batch], on_batch: Callable[[int], None] | None = None) -> Log:
    """Put the columns of all chunks together and into the order of time."""
    log = Log(plan)
    columns = _Columns()
    group_ids: dict[Group, int] = {}
    reason_ids: dict[str, int] = {"": 0}
    for batch in batches:
        _take(log, batch, columns, group_ids, reason_ids)
        if on_batch is not None:
            on_batch(log.rows)
    log.groups = list(group_ids)
    log.reasons = list(reason_ids)
    if not log.rows:
        return log
    _name(log, columns)
    _sort(log)
    if log.at is not None and log.latency is not None:
        log.running_s = shelved(np.nan_to_num(log.latency) / np.float32(1000))
    return log


def _take(log: Log, batch: Batch, columns: _Columns, group_ids: dict[Group, int], reason_ids: dict[str, int]) -> None:
    log.skipped.update(batch.skipped)
    log.damaged += batch.damaged
    log.block_tokens = max([log.block_tokens, *batch.block_tokens])
    log.unknown_levels.update(batch.unknown_levels)
    log.lengths.update(batch.lengths)
    log.with_id += batch.ids
    log.repeated_ids += batch.repeated_ids
    log.row_starts.append(log.rows)
    log.rows += batch.rows
    if batch.chunk is not None:
        log.chunks.append(batch.chunk)
    groups = np.array([group_ids.setdefault(g, len(group_ids)) for g in batch.groups] or [0], np.uint32)
    reasons = np.array([0, *(reason_ids.setdefault(r, len(reason_ids)) for r in batch.reasons)], np.uint8)
    renamed = {
        name: known[np.frombuffer(batch.columns[name], known.dtype)].tobytes()
        for name, known in (("group", groups), ("reason", reasons))
    }
    others = {}
    for name, column in batch.columns.items():
        if name.startswith("key:"):
            log.keys.append(name[4:], column)
        else:
            others[name] = column
    columns.add(batch.rows, {**others, **renamed})


def _kind(name: str) -> tuple[Any, Any]:
    """Return the type of a column, and what stands in it where a chunk leaves it out."""
    if name in COLUMNS:
        kind, absent = COLUMNS[name]
        return kind, 0 if absent is None else absent
    return {"parts": ("H", 1), "blocks": ("I", 0)}.get(name, ("Q", 0))


def _name(log: Log, columns: _Columns) -> None:
    """Give the log its columns."""
    question = columns.take("question")
    log.question, distinct = densify(question)
    del question
    if distinct[0] != 0:  # zero stands for none, also where every request asks something
        log.question += np.uint32(1)
        distinct = np.append(np.uint64(0), distinct)
    log.question = shelved(log.question)
    log.question_group = np.append(0, np.cumsum(np.diff(distinct >> np.uint64(32)) != 0)).astype(np.uint32)
    block = columns.take("block")
    if block is not None:
        log.block = shelved(densify(block)[0])
    for name in columns.names():
        if name.startswith("gate:"):
            log.gates[name[5:]] = columns.take(name)
        else:
            setattr(log, name, columns.take(name))


def _sort(log: Log) -> None:
    """Bring rows into the order of time, keeping the files' order among equals; rows without a time stay put."""
    if log.at is None:
        return
    missing = np.isnan(log.at)
    if bool(missing.all()):
        log.at = None
        return
    log.untimed = int(missing.sum())
    if log.untimed:
        at = log.at.copy()
        place = np.where(missing, 0, np.arange(log.rows))
        np.maximum.accumulate(place, out=place)
        at = at[place]
        at[np.isnan(at)] = log.at[~missing][0]
        log.at = shelved(at)
    if bool((np.diff(log.at) >= 0).all()):
        return
    log.was_sorted = False
    order = np.argsort(log.at, kind="stable").astype(np.uint32)
    row_of_part = log.row_of_part
    if row_of_part is None:
        by_part = order
    else:
        rank = np.empty(log.rows, np.uint32)
        rank[order] = np.arange(log.rows, dtype=np.uint32)
        by_part = np.argsort(rank[row_of_part], kind="stable").astype(np.uint32)
    for level in log.keys:
        log.keys[level] = log.keys[level][by_part]
    for name in log.gates:
        log.gates[name] = shelved(log.gates[name][order])
    if log.block is not None and log.blocks is not None:
        rank = np.empty(log.rows, np.uint32)
        rank[order] = np.arange(log.rows, dtype=np.uint32)
        log.block = shelved(log.block[np.argsort(np.repeat(rank, log.blocks), kind="stable")])
        log.blocks = shelved(log.blocks[order])
    for name in ("group", "flags", "reason", "parts", "question", "user", "session", *FLOATS, *COUNTS):
        column = getattr(log, name)
        if column is not None and len(column):
            setattr(log, name, shelved(column[order]))
    log.origin = shelved(order)
