"""Put a miss down to what keeps it from the nearest of some earlier requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import msgspec

from edgeinf.analyze.causes import Cause, same_question
from edgeinf.analyze.diff import Difference, differences
from edgeinf.analyze.record import Record, call_of
from edgeinf.analyze.scan import Rows, Scanner
from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.normalize.levels import LEVELS

__all__ = ["Best", "Comparison", "compared", "nearest"]

Best: TypeAlias = tuple[frozenset[Cause], Difference]
Read: TypeAlias = Callable[[set[int]], Iterable[tuple[int, Record]]]


class Comparison(msgspec.Struct, frozen=True):
    """Some misses, each with the rows to compare it with, and where all of these rows are to be read."""

    level: str
    pairs: dict[int, list[int]]
    places: list[tuple[Rows, list[int]]]


def compared(scanner: Scanner, task: Comparison) -> dict[int, Best | None]:
    """Return what ``nearest`` finds, reading the log again."""

    def read(wanted: set[int]) -> Iterable[tuple[int, Record]]:
        for rows, numbers in task.places:
            mine = [(place, row) for place, row in zip(rows.places, numbers, strict=True) if row in wanted]
            if mine:
                records = scanner.records(Rows(rows.chunk, [place for place, _ in mine]))
                yield from zip([row for _, row in mine], records, strict=True)

    return nearest(task.pairs, task.level, read)


def nearest(pairs: dict[int, list[int]], level: str, read: Read) -> dict[int, Best | None]:
    """Return per miss the fewest causes that keep it from an earlier request, with an example.

    In rounds, the nearest candidate of each first: most are explained by it, and the others need not be read.
    """
    best: dict[int, Best | None] = dict.fromkeys(pairs)
    waiting = {row: iter(others) for row, others in pairs.items()}
    mine = _bodies(read(set(pairs)), level)
    while waiting:
        asked = {row: other for row, others in waiting.items() if (other := next(others, None)) is not None}
        bodies = _bodies(read(set(asked.values())), level)
        waiting = {row: waiting[row] for row in asked}
        for row, other in asked.items():
            if row not in mine or other not in bodies:
                continue
            found = differences(msgspec.json.decode(bodies[other]), msgspec.json.decode(mine[row]))
            causes = same_question(found)
            known = best[row]
            if causes and (known is None or len(causes) < len(known[0])):
                best[row] = causes, found[0]
                if len(causes) == 1:
                    del waiting[row]
    return best


def _bodies(records: Iterable[tuple[int, Record]], level: str) -> dict[int, bytes]:
    """Return what of each request enters the key."""
    found: dict[int, bytes] = {}
    for row, record in records:
        try:
            call = call_of(record)
        except CallError:
            continue
        if call is not None:
            found[row] = msgspec.json.encode(by_name(call.dialect).keyed(call, LEVELS[level])[0])
    return found
