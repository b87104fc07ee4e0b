"""Why near-equal requests miss: what keeps them apart, ranked by the hits that removing it would bring.

A first-time question is compared with earlier ones that ask the same after everything volatile is taken out. The
nearest of them tells what keeps the two apart; where that is not the question itself, removing it would have been a
hit. All such misses are compared in a log of ordinary size, a drawn sample of them in a large one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

import msgspec
import numpy as np

from edgeinf.analyze import heap
from edgeinf.analyze.causes import Cause, advice
from edgeinf.analyze.dense import mixed, order_of
from edgeinf.analyze.diff import Difference
from edgeinf.analyze.levels import NO_ID, LevelRun
from edgeinf.analyze.log import Log
from edgeinf.analyze.nearest import Best, Comparison, compared, nearest
from edgeinf.analyze.scan import Crew
from edgeinf.analyze.scopes import Scoped
from edgeinf.core.redact import redact

__all__ = ["Comparing", "Miss", "Misses", "compare_misses"]

T = TypeVar("T")

_ALL_UP_TO = 12_000
_SAMPLE = 2_000
_AT_ONCE = 250  # misses whose requests are held at one time
_ROWS = 1 << 16  # requests that are looked at at one time
_NEAR, _FAR = 6, 3  # earlier requests to compare with: of the same surroundings, and of any


class Miss(msgspec.Struct, frozen=True, kw_only=True):
    """One cause, or several that must go together, with how many misses it explains."""

    causes: tuple[Cause, ...]
    requests: int
    gain: float
    advice: str
    path: str
    a: str
    b: str


class Misses(msgspec.Struct, frozen=True, kw_only=True):
    """All causes, most recoverable first. ``expired`` misses asked what was stored but had ended."""

    causes: list[Miss]
    first_time: int
    compared: int
    sampled: bool
    expired: int
    another_question: int


class Comparing(msgspec.Struct, frozen=True):
    """Misses that are being compared with what came before them, perhaps by other processes."""

    found: Iterator[dict[int, Best | None]]
    requests: int
    total: int
    compared: int
    first_time: int
    expired: int

    def misses(self) -> Misses:
        """Return the causes, once all are compared."""
        counts: Counter[frozenset[Cause]] = Counter()
        examples: dict[frozenset[Cause], Difference] = {}
        another = 0
        for best in chain.from_iterable(some.values() for some in self.found):
            if best is None:
                another += 1
                continue
            causes, example = best
            counts[causes] += 1
            examples.setdefault(causes, example)
        weight = self.total / self.compared if self.compared else 0.0
        ranked = [
            Miss(
                causes=tuple(sorted(causes)),
                requests=round(count * weight),
                gain=count * weight / self.requests,
                advice=advice(causes),
                path=examples[causes].path,
                a=redact(_visible(examples[causes].a)),
                b=redact(_visible(examples[causes].b)),
            )
            for causes, count in counts.most_common()
        ]
        return Misses(
            causes=ranked,
            first_time=self.first_time,
            compared=self.compared,
            sampled=self.compared < self.total,
            expired=self.expired,
            another_question=round(another * weight),
        )


def compare_misses(log: Log, run: LevelRun, level: str, scope: Scoped, crew: Crew) -> Comparing | None:
    """Begin to compare misses with what came before them; None where the log has no content to compare."""
    if log.parts is not None or not bool((log.question != 0).any()):
        return None
    ids = run.ids
    eligible = ids != NO_ID
    first = _first(ids, eligible)
    expired = int((eligible & ~first & ~run.hit & ~run.coalesced).sum())
    asked = log.question_group[log.question]
    counts = np.bincount(asked[eligible], minlength=len(log.question_group))
    again = eligible & (counts > 1)[asked]  # what is asked once has nothing to be near to
    rows = np.flatnonzero(again).astype(np.int32)
    wanted = np.flatnonzero(first & again & (log.question != 0))
    del asked, eligible, again
    heap.give_back()
    far = _Grouping(log, rows, lambda some: log.question_group[log.question[some]], scope)
    near = _Grouping(log, rows, _surroundings(log), scope)
    heap.give_back()
    wanted = wanted[far.has_earlier(wanted)]  # somebody asked the like before
    total = len(wanted)
    sampled = total > _ALL_UP_TO
    if sampled:
        wanted = wanted[sorted(random.Random(1).sample(range(total), _SAMPLE))]
    pairs: dict[int, list[int]] = {}
    for row in wanted.tolist():
        nearest = near.earlier(row, ids, _NEAR)
        pairs[row] = list(dict.fromkeys([*nearest, *far.earlier(row, ids, _FAR)]))
    return Comparing(_compared(log, pairs, level, crew), log.rows, total, len(pairs), int(first.sum()), expired)


def _first(ids: Any, eligible: Any) -> Any:
    """Return which eligible requests are the first of their id."""
    where = np.full(int(ids[eligible].max(initial=0)) + 1, -1, np.int32)
    for end in range(len(ids), 0, -_ROWS):
        start = max(0, end - _ROWS)
        places = np.flatnonzero(eligible[start:end])[::-1] + start
        where[ids[places]] = places  # of equal ids the last one stays
    first = np.zeros(len(ids), bool)
    first[where[where >= 0]] = True
    return first


def _surroundings(log: Log) -> Callable[[Any], Any]:
    """Return what groups requests that ask the same within the same application: by its route if the log names it,
    else by what its prompt looks like."""
    if all(group.route is None for group in log.groups):
        return lambda rows: log.question[rows]
    routes: dict[str | None, int] = {}
    number = np.array([routes.setdefault(group.route, len(routes)) for group in log.groups], np.uint64)

    def around(rows: Any) -> Any:
        asked = log.question_group[log.question[rows]].astype(np.uint64)
        return asked << np.uint64(20) | number[log.group[rows]]

    return around


class _Grouping:
    """Requests of one group and caller stand together, in order of time."""

    def __init__(self, log: Log, rows: Any, group: Callable[[Any], Any], scope: Scoped) -> None:
        key = np.empty(len(rows), np.uint64)
        for start in range(0, len(rows), _ROWS):
            some = rows[start : start + _ROWS]
            key[start : start + _ROWS] = mixed(group(some)) ^ scope.key(log, some)
        order = order_of(key)
        key = key[order]
        begins = np.arange(len(rows), dtype=np.int32)
        begins[1:] *= key[1:] != key[:-1]
        del key
        self._start = np.maximum.accumulate(begins, out=begins)
        self._order = rows[order]
        self._place = np.full(log.rows, -1, np.int32)
        self._place[self._order] = np.arange(len(rows), dtype=np.int32)

    def has_earlier(self, rows: Any) -> Any:
        """Return which rows are not the first of their group."""
        place = self._place[rows]
        return place > self._start[place]

    def earlier(self, row: int, ids: Any, most: int) -> list[int]:
        """Return the latest earlier rows of the group, one per id, and the group's first."""
        place = int(self._place[row])
        start = int(self._start[place])
        found: dict[int, int] = {}
        for at in range(place - 1, max(start, place - 8 * most) - 1, -1):
            other = int(self._order[at])
            found.setdefault(int(ids[other]), other)
            if len(found) == most:
                break
        if start < place:
            other = int(self._order[start])
            found.setdefault(int(ids[other]), other)
        return list(found.values())


def _compared(log: Log, pairs: dict[int, list[int]], level: str, crew: Crew) -> Iterator[dict[int, Best | None]]:
    """Return what is found of each miss, in their order, some at a time."""
    batches = _batched(pairs.items(), _AT_ONCE)
    if not log.chunks:  # which only this process can read
        return (nearest(dict(some), level, lambda rows: log.fetch(np.array(sorted(rows)))) for some in batches)
    return crew.each(compared, (_comparison(log, dict(some), level) for some in batches))


def _comparison(log: Log, pairs: dict[int, list[int]], level: str) -> Comparison:
    rows = np.array(sorted({*pairs, *chain.from_iterable(pairs.values())}))
    return Comparison(level, pairs, [(some, rows[which].tolist()) for some, which in log.rows_by_chunk(rows)])


def _batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of at most ``size``."""
    source = iter(items)
    while some := list(islice(source, size)):
        yield some


def _visible(text: str) -> str:
    """Return a span without the marks that masks leave."""
    return text.replace("\x1a", "")
