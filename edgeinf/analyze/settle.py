"""Work out the true keys where they matter, after a first pass that took fingerprints.

A request whose fingerprint no other question has shares its key with its own repeats alone, so the fingerprint is as
good as the key. The true key is needed where different questions (by their fingerprint at ``safe``, which tells all
apart, or with masks by what is told besides) have one fingerprint at a looser level, and where the moment an entry ends
counts, since that derives from the key. Requests that are equal at the strictest level are equal at all, and those that
are told to be equal are so with masks, so one speaks for all of its like.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeinf.analyze import heap
from edgeinf.analyze.coarse import COARSE, REWRITTEN_DIALECTS, TELLING, coarse_levels
from edgeinf.analyze.columns import ELIGIBLE
from edgeinf.analyze.dense import Hashes, Ids, densify, mixed
from edgeinf.analyze.log import Log
from edgeinf.analyze.options import Options
from edgeinf.analyze.scan import Crew, Rows, Scanner
from edgeinf.analyze.scopes import scoped
from edgeinf.analyze.simulate import first_at_or_after, grouped

__all__ = ["settle"]

_AT_ONCE = 2  # levels

Mask = npt.NDArray[np.bool_]


def settle(log: Log, options: Options, crew: Crew) -> int:
    """Put true keys in the place of fingerprints where it matters; return how many requests were read again."""
    count = _settle(log, options, crew)
    log.keys.pop(TELLING, None)
    return count


def _settle(log: Log, options: Options, crew: Crew) -> int:
    names = [rule.name for rule in coarse_levels(log.plan.levels, log.plan.masks) if rule.name != TELLING]
    dialects = [group.context.dialect for group in log.groups]
    if not names or not log.chunks or REWRITTEN_DIALECTS.isdisjoint(dialects):
        return 0
    rewritten = np.array([name in REWRITTEN_DIALECTS for name in dialects])
    chosen = log.has(ELIGIBLE) & rewritten[log.group]
    rows: Any = slice(None) if bool(chosen.all()) else np.flatnonzero(chosen).astype(np.uint32)
    # Where each of them has its only key; whoever may share, what is repeated is counted as if everybody did.
    places: Any = rows if log.parts is None else (np.cumsum(log.parts) - log.parts)[rows]
    needed = _needed(log, options, names, rows, places)
    heap.give_back()
    numbers: dict[str, int] = {}
    of_group = mixed(np.array([numbers.setdefault(name, len(numbers)) for name in dialects]))
    reading, speakers = _speakers(log, rows, places, needed, of_group[log.group])
    wanted = np.zeros(len(reading), np.uint8)  # a bit for each level at which a request's key is needed
    for number, name in enumerate(names):
        wanted[speakers[name]] |= np.uint8(1 << number)
    true = _true_keys(log, _picked(rows, reading), wanted, names, crew)
    for number, name in enumerate(names):
        keys = log.keys[name]
        keys[_picked(places, np.flatnonzero(needed[name]))] = true[number][speakers[name]]
        log.keys[name] = keys
    return len(reading)


def _needed(log: Log, options: Options, names: list[str], rows: Any, places: Any) -> dict[str, Mask]:
    """Return by level which requests need their true key."""
    safe = log.keys["safe"][places]

    def at(name: str) -> Mask:
        key = scoped(log, "shared" if name == options.level else options.scope).key(log)[rows]
        key ^= log.keys[name][places]
        ids, _ = densify(key)
        del key
        found = _outliving(ids, log, rows, options)
        if name in COARSE:
            found |= _shared(ids, log.keys[TELLING][places] if name == "masked" else safe)
        return found

    with ThreadPoolExecutor(_AT_ONCE) as threads:  # long columns leave the interpreter to each other
        return dict(zip(names, threads.map(at, names), strict=True))


def _speakers(
    log: Log, rows: Any, places: Any, needed: dict[str, Mask], of_dialect: Hashes
) -> tuple[npt.NDArray[np.int32], dict[str, npt.NDArray[np.int32]]]:
    """Return which requests to read, and by level which of these speaks for each request whose key is needed."""
    strict = "exact" if "exact" in needed else "safe"
    by_column: dict[str, list[str]] = {}
    for name in needed:
        by_column.setdefault(TELLING if name == "masked" else strict, []).append(name)
    speakers: dict[str, npt.NDArray[np.int32]] = {}
    speaking = np.zeros(len(next(iter(needed.values()))), bool)
    for column in sorted(by_column, key=lambda column: column != strict):
        some = np.flatnonzero(np.logical_or.reduce([needed[name] for name in by_column[column]])).astype(np.int32)
        same, distinct = densify(log.keys[column][places][some] ^ of_dialect[rows][some])
        speaker = np.zeros(len(distinct), np.int32)
        speaker[same] = some
        already = speaking[some]  # for what is read anyway
        speaker[same[already]] = some[already]
        speaking[speaker] = True
        speakers.update({name: speaker[same[needed[name][some]]] for name in by_column[column]})
    reading = np.flatnonzero(speaking).astype(np.int32)
    return reading, {name: np.searchsorted(reading, rows_).astype(np.int32) for name, rows_ in speakers.items()}


def _picked(rows: Any, index: Any) -> Any:
    """Return some of the rows; a slice stands for all there are."""
    return index if isinstance(rows, slice) else rows[index]


def _shared(ids: Ids, safe: Hashes) -> Mask:
    """Return which requests share their fingerprint with another question."""
    count = int(ids.max()) + 1 if len(ids) else 0
    one = np.zeros(count, np.uint64)
    one[ids] = safe
    shared = np.zeros(count, bool)
    shared[ids[safe != one[ids]]] = True
    return np.asarray(shared[ids])


def _outliving(ids: Ids, log: Log, rows: Any, options: Options) -> Mask:
    """Return which requests have a key on which it depends whether an entry has ended when it is asked for again: of
    any two, the second comes later than the soonest that the first's may end, and no later than it must."""
    policy = options.policy
    if log.at is None or not policy.ttl_jitter or math.isinf(policy.ttl_s) or not len(ids):
        return np.zeros(len(ids), bool)
    soonest = policy.ttl_s * (1.0 - policy.ttl_jitter) * (1.0 - 1e-9) - 1e-3
    latest = policy.ttl_s * (1.0 + 1e-9) + 1e-3
    depends = np.zeros(int(ids.max()) + 1, bool)
    running = None if log.running_s is None else log.running_s[rows]
    for block in grouped(ids, np.ones(len(ids), bool), log.at[rows], running).blocks():
        bounds = np.append(np.flatnonzero(block.begins), len(block.order)).astype(np.int32)
        group_end = np.repeat(bounds[1:], np.diff(bounds))
        following = first_at_or_after(block.t, block.done + soonest, group_end)
        asked = np.flatnonzero(following < group_end)
        asked = asked[block.t[following[asked]] <= block.done[asked] + latest]
        depends[block.ids[asked]] = True
    return np.asarray(depends[ids])


def _true_keys(
    log: Log, rows: npt.NDArray[np.uint32], wanted: npt.NDArray[np.uint8], names: list[str], crew: Crew
) -> npt.NDArray[np.uint64]:
    """Return the keys of each row, level by level, where they are wanted."""
    found = np.zeros((len(rows), len(names)), np.uint64)
    levels = [tuple(name for number, name in enumerate(names) if bits >> number & 1) for bits in range(1 << len(names))]
    where: list[npt.NDArray[Any]] = []
    jobs: list[tuple[Rows, list[tuple[str, ...]]]] = []
    for task, which in log.rows_by_chunk(rows):
        where.append(which)
        jobs.append((task, [levels[bits] for bits in wanted[which].tolist()]))
    for which, answer in zip(where, crew.each(Scanner.settled, jobs), strict=True):
        bits = wanted[which][:, None] >> np.arange(len(names), dtype=np.uint8) & np.uint8(1)
        mine = np.zeros(bits.shape, np.uint64)
        mine[bits.astype(bool)] = np.frombuffer(answer, np.uint64)
        found[which] = mine
    return found.T
