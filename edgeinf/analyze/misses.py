"""Why near-equal requests miss: what keeps them apart, ranked by the hits that removing it would bring.

A first-time question is compared with earlier ones that ask the same after everything volatile is taken out. The
nearest of them tells what keeps the two apart; where that is not the question itself, removing it would have been a
hit. All such misses are compared in a log of ordinary size, a drawn sample of them in a large one.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

import msgspec
import numpy as np

from edgeinf.analyze.causes import Cause, advice, same_question
from edgeinf.analyze.dense import mixed
from edgeinf.analyze.diff import Difference, differences
from edgeinf.analyze.levels import NO_ID, LevelRun
from edgeinf.analyze.log import Log
from edgeinf.analyze.record import call_of
from edgeinf.analyze.scopes import Scoped
from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.normalize.levels import LEVELS
from edgeinf.core.redact import redact

__all__ = ["Miss", "Misses", "explain_misses"]

T = TypeVar("T")

_ALL_UP_TO = 12_000
_SAMPLE = 2_000
_AT_ONCE = 1_000  # misses whose requests are held at one time
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


def explain_misses(log: Log, run: LevelRun, level: str, scope: Scoped) -> Misses | None:
    """Return the causes; None where the log has no content to compare."""
    if log.parts is not None or not bool((log.question != 0).any()):
        return None
    ids = run.ids
    eligible = ids != NO_ID
    first = np.zeros(log.rows, bool)
    _, starts = np.unique(ids[eligible], return_index=True)
    first[np.flatnonzero(eligible)[starts]] = True
    expired = int((eligible & ~first & ~run.hit & ~run.coalesced).sum())
    asked = log.question_group[log.question]
    again = eligible & (np.bincount(asked, eligible)[asked] > 1)  # what is asked once has nothing to be near to
    near = _Grouping(log, _surroundings(log), scope, again)
    far = _Grouping(log, asked, scope, again)
    wanted = np.flatnonzero(first & again & (log.question != 0))
    wanted = wanted[far.has_earlier(wanted)]  # somebody asked the like before
    total = len(wanted)
    sampled = total > _ALL_UP_TO
    if sampled:
        wanted = wanted[sorted(random.Random(1).sample(range(total), _SAMPLE))]
    pairs: dict[int, list[int]] = {}
    for row in wanted.tolist():
        nearest = near.earlier(row, ids, _NEAR)
        pairs[row] = list(dict.fromkeys([*nearest, *far.earlier(row, ids, _FAR)]))
    return _attribute(log, pairs, level, total=total, first_time=int(first.sum()), expired=expired)


def _surroundings(log: Log) -> Any:
    """Return what groups requests that ask the same within the same application: by its route if the log names it,
    else by what its prompt looks like."""
    if all(group.route is None for group in log.groups):
        return log.question
    routes: dict[str | None, int] = {}
    number = np.array([routes.setdefault(group.route, len(routes)) for group in log.groups], np.uint64)
    return (log.question_group[log.question].astype(np.uint64) << np.uint64(20)) + number[log.group]


class _Grouping:
    """Requests of one group stand together, in order of time."""

    def __init__(self, log: Log, group: Any, scope: Scoped, eligible: Any) -> None:
        key = scope.key(log)
        key ^= mixed(group.astype(np.uint64) + np.uint64(1 << 41))
        rows = np.flatnonzero(eligible).astype(np.int32)
        self._order = rows[np.argsort(key[rows], kind="stable").astype(np.int32)]
        self._place = np.full(len(key), -1, np.int32)
        self._place[self._order] = np.arange(len(self._order), dtype=np.int32)
        sorted_key = key[self._order]
        begins = np.append(True, sorted_key[1:] != sorted_key[:-1]) if len(rows) else np.zeros(0, bool)
        self._start = np.maximum.accumulate(np.where(begins, np.arange(len(begins), dtype=np.int32), 0))

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


def _attribute(
    log: Log, pairs: dict[int, list[int]], level: str, *, total: int, first_time: int, expired: int
) -> Misses:
    """Read the requests again and put each miss down to what keeps it from its nearest."""
    counts: Counter[frozenset[Cause]] = Counter()
    examples: dict[frozenset[Cause], Difference] = {}
    another = 0
    for some in _batched(pairs.items(), _AT_ONCE):
        for best in _nearest_of(log, dict(some), level).values():
            if best is None:
                another += 1
                continue
            causes, found = best
            counts[causes] += 1
            examples.setdefault(causes, found)
    weight = total / len(pairs) if pairs else 0.0
    ranked = [
        Miss(
            causes=tuple(sorted(causes)),
            requests=round(count * weight),
            gain=count * weight / log.rows,
            advice=advice(causes),
            path=examples[causes].path,
            a=redact(_visible(examples[causes].a)),
            b=redact(_visible(examples[causes].b)),
        )
        for causes, count in counts.most_common()
    ]
    return Misses(
        causes=ranked,
        first_time=first_time,
        compared=len(pairs),
        sampled=len(pairs) < total,
        expired=expired,
        another_question=round(another * weight),
    )


def _bodies(log: Log, rows: set[int], level: str) -> dict[int, bytes]:
    """Read requests again and return what of them enters the key."""
    raw: dict[int, bytes] = {}
    for row, record in log.fetch(np.array(sorted(rows), np.int64)):
        try:
            call = call_of(record)
        except CallError:
            continue
        if call is not None:
            raw[row] = msgspec.json.encode(by_name(call.dialect).keyed(call, LEVELS[level])[0])
    return raw


def _batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of at most ``size``."""
    source = iter(items)
    while some := list(islice(source, size)):
        yield some


Best = tuple[frozenset[Cause], Difference]


def _nearest_of(log: Log, pairs: dict[int, list[int]], level: str) -> dict[int, Best | None]:
    """Return per miss the fewest causes that keep it from an earlier request, with an example.

    In rounds, the nearest candidate of each first: most are explained by it, and the others need not be read.
    """
    best: dict[int, Best | None] = dict.fromkeys(pairs)
    waiting = {row: iter(others) for row, others in pairs.items()}
    mine = _bodies(log, set(pairs), level)
    while waiting:
        asked = {row: other for row, others in waiting.items() if (other := next(others, None)) is not None}
        bodies = _bodies(log, set(asked.values()), level)
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


def _visible(text: str) -> str:
    """Return a span without the marks that masks leave."""
    return text.replace("\x1a", "")
