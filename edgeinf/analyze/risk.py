"""What a level risks: how often the questions it newly brings together had answers that contradict each other, beyond
how often the answers to one and the same question do."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import msgspec
import numpy as np

from edgeinf.analyze.columns import ANSWERED, FAILED
from edgeinf.analyze.conflict import conflict
from edgeinf.analyze.dense import order_of
from edgeinf.analyze.diff import differences
from edgeinf.analyze.levels import NO_ID, LevelRun
from edgeinf.analyze.log import Log
from edgeinf.analyze.record import Record, answer_text, call_of
from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.normalize.levels import LEVELS
from edgeinf.core.redact import redact
from edgeinf.core.stats import newcombe

__all__ = ["Example", "Risk", "risks"]

_FEWEST = 30
_MOST_PAIRS = 400
_EXAMPLES = 5
_CUT = 200


class Example(msgspec.Struct, frozen=True):
    """Two requests that a level takes for one: where and how they differ, their answers, and the sign of conflict."""

    path: str
    a: str
    b: str
    answer_a: str
    answer_b: str
    conflict: str | None


class Risk(msgspec.Struct, frozen=True, kw_only=True):
    """Conflicts among newly merged pairs against those among exact repeats. ``low`` and ``high`` bound the difference
    of the two rates (Newcombe, 95 %); rates are None under thirty pairs, and ``why`` says so."""

    classes: int
    compared: int
    conflicts: int
    rate: float | None
    baseline_compared: int
    baseline_conflicts: int
    baseline: float | None
    low: float | None
    high: float | None
    examples: list[Example]
    why: str | None


def risks(log: Log, levels: dict[str, LevelRun | None]) -> dict[str, Risk | None]:
    """Return the risk of each level above the first that the log has; None where there is nothing to compare."""
    known = [(name, run) for name, run in levels.items() if run is not None]
    found: dict[str, Risk | None] = dict.fromkeys(levels)
    answered = log.has(ANSWERED) & ~log.has(FAILED)
    if log.parts is not None or not bool(answered.any()) or not known:
        return found
    pairs = {known[0][0]: _repeats(known[0][1].ids, answered)}
    for (_, before), (name, run) in pairwise(known):
        pairs[name] = _newly_merged(run.ids, before.ids, answered)
    drawn = {name: _drawn(p) for name, p in pairs.items()}
    rows = np.unique(np.concatenate([p.ravel() for p in drawn.values()])) if drawn else np.zeros(0, np.int64)
    answers: dict[int, str] = {}
    records: dict[int, Record] = {}
    for row, record in log.fetch(rows.astype(np.int64)):
        said = answer_text(record.answer)
        if said is not None:
            answers[row] = said
            records[row] = record
    base = _compare(drawn[known[0][0]], answers)
    for name, _ in known[1:]:
        found[name] = _risk(len(pairs[name]), _compare(drawn[name], answers), base, answers, records, known[0][0])
    return found


Pair = tuple[int, int, str | None]


def _repeats(ids: Any, usable: Any) -> Any:
    """Return the first two usable rows of each class that has two, in the order of the log."""
    rows = np.flatnonzero((ids != NO_ID) & usable).astype(np.int32)
    order = rows[order_of(ids[rows])]
    begins = np.append(True, ids[order[1:]] != ids[order[:-1]]) if len(order) else np.zeros(0, bool)
    firsts = np.flatnonzero(begins[:-1] & ~begins[1:])
    return _by_row(order[firsts], order[firsts + 1])


def _by_row(first: Any, second: Any) -> Any:
    """Return pairs in the order of the log, so that which of them are drawn depends on no number of a key."""
    return np.stack([first, second], axis=1)[np.argsort(first)]


def _newly_merged(ids: Any, before: Any, usable: Any) -> Any:
    """Return, per class that the level before kept apart, its first row and the first that was not merged with it, in
    the order of the log."""
    rows = np.flatnonzero((ids != NO_ID) & (before != NO_ID) & usable).astype(np.int32)
    order = rows[order_of(ids[rows])]
    del rows
    if not len(order):
        return np.zeros((0, 2), np.int64)
    sorted_ids = ids[order]
    first = np.arange(len(order), dtype=np.int32)
    first[1:] *= sorted_ids[1:] != sorted_ids[:-1]
    del sorted_ids
    first = order[np.maximum.accumulate(first, out=first)]
    other = np.flatnonzero(before[order] != before[first])
    _, once = np.unique(ids[order[other]], return_index=True)
    chosen = other[once]
    return _by_row(first[chosen], order[chosen])


def _drawn(pairs: Any) -> Any:
    if len(pairs) <= _MOST_PAIRS:
        return pairs
    return pairs[sorted(random.Random(1).sample(range(len(pairs)), _MOST_PAIRS))]


def _compare(pairs: Any, answers: dict[int, str]) -> list[Pair]:
    return [
        (int(a), int(b), conflict(answers[int(a)], answers[int(b)]))
        for a, b in pairs
        if int(a) in answers and int(b) in answers
    ]


def _risk(
    classes: int,
    compared: list[Pair],
    base: list[Pair],
    answers: dict[int, str],
    records: dict[int, Record],
    strictest: str,
) -> Risk:
    n, m = len(compared), len(base)
    conflicts, base_conflicts = sum(c is not None for *_, c in compared), sum(c is not None for *_, c in base)
    why = None
    low = high = None
    if n < _FEWEST:
        why = f"only {n} newly merged pairs with answers; {_FEWEST} are needed"
    elif m < _FEWEST:
        why = f"only {m} exact repeats with answers to compare with; {_FEWEST} are needed"
    else:
        low, high = newcombe(base_conflicts, m, conflicts, n)
    shown = sorted(compared, key=lambda p: p[2] is None)[:_EXAMPLES]
    return Risk(
        classes=classes,
        compared=n,
        conflicts=conflicts,
        rate=conflicts / n if n >= _FEWEST else None,
        baseline_compared=m,
        baseline_conflicts=base_conflicts,
        baseline=base_conflicts / m if m >= _FEWEST else None,
        low=low,
        high=high,
        examples=[_example(pair, answers, [_keyed(records[row], strictest) for row in pair[:2]]) for pair in shown],
        why=why,
    )


def _example(pair: Pair, answers: dict[int, str], requests: list[bytes]) -> Example:
    a, b, sign = pair
    one, other = map(msgspec.json.decode, requests)
    found = differences(one, other)
    where, x, y = (found[0].path, found[0].a, found[0].b) if found else ("", "", "")
    return Example(where, _shown(x), _shown(y), _shown(answers[a]), _shown(answers[b]), sign)


def _shown(text: str) -> str:
    said = redact(text.replace("\x1a", ""))
    return said if len(said) <= _CUT else said[: _CUT - 1] + "…"


def _keyed(record: Record, level: str) -> bytes:
    try:
        call = call_of(record)
    except CallError:
        return b"{}"
    return b"{}" if call is None else msgspec.json.encode(by_name(call.dialect).keyed(call, LEVELS[level])[0])
