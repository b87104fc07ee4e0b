"""Work out the true keys where they matter, after a first pass that took fingerprints.

A request whose fingerprint no other question has shares its key with its own repeats alone, so the fingerprint is as
good as the key. The true key is needed where different questions (by their fingerprint at ``safe``, which tells all
apart) have one fingerprint at a looser level, and where the moment an entry ends counts, since that derives from the
key. Requests that are equal at the strictest level are equal at all, so one speaks for all of its repeats.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from edgeinf.analyze.coarse import COARSE, REWRITTEN_DIALECTS, coarse_levels
from edgeinf.analyze.columns import ELIGIBLE
from edgeinf.analyze.dense import Hashes, Ids, densify, mixed
from edgeinf.analyze.log import Log
from edgeinf.analyze.options import Options
from edgeinf.analyze.scan import Crew, Rows, Scanner
from edgeinf.analyze.scopes import scoped

__all__ = ["settle"]

Mask = npt.NDArray[np.bool_]


def settle(log: Log, options: Options, crew: Crew) -> int:
    """Put true keys in the place of fingerprints where it matters; return how many requests were read again."""
    names = [rule.name for rule in coarse_levels(log.plan.levels, log.plan.masks)]
    dialects = [group.context.dialect for group in log.groups]
    if not names or not log.chunks or REWRITTEN_DIALECTS.isdisjoint(dialects):
        return 0
    rewritten = np.array([name in REWRITTEN_DIALECTS for name in dialects])
    chosen = log.has(ELIGIBLE) & rewritten[log.group]
    rows: Any = slice(None) if bool(chosen.all()) else np.flatnonzero(chosen).astype(np.uint32)
    # Where each of them has its only key; whoever may share, what is repeated is counted as if everybody did.
    places: Any = rows if log.parts is None else (np.cumsum(log.parts) - log.parts)[rows]
    safe = log.keys["safe"][places]
    needed: dict[str, Mask] = {}
    for name in names:
        key = scoped(log, "shared" if name == options.level else options.scope).key(log)[rows]
        key ^= log.keys[name][places]
        ids, _ = densify(key)
        del key
        needed[name] = _outliving(ids, log, rows, options)
        if name in COARSE:
            needed[name] |= _shared(ids, safe)
    numbers: dict[str, int] = {}
    of_group = mixed(np.array([numbers.setdefault(name, len(numbers)) for name in dialects]))
    some = np.flatnonzero(np.logical_or.reduce(list(needed.values())))
    strictest = log.keys["exact" if "exact" in names else "safe"][places][some]
    speaks, distinct = densify(strictest ^ of_group[log.group[rows][some]])
    del safe, strictest
    speakers = np.zeros(len(distinct), np.uint32)
    speakers[speaks] = some
    wanted = np.zeros(len(distinct), np.uint8)  # a bit for each level at which a speaker's key is needed
    for number, name in enumerate(names):
        at_level = np.zeros(len(distinct), bool)
        at_level[speaks[needed[name][some]]] = True
        wanted |= at_level.astype(np.uint8) << np.uint8(number)
    true = _true_keys(log, _picked(rows, speakers), wanted, names, crew)
    for number, name in enumerate(names):
        mine = needed[name][some]
        keys = log.keys[name]
        keys[_picked(places, some[mine])] = true[number][speaks[mine]]
        log.keys[name] = keys
    return len(speakers)


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
    """Return which requests are repeated over a time in which an entry may end sooner or later by its key."""
    policy = options.policy
    none = np.zeros(len(ids), bool)
    if log.at is None or not policy.ttl_jitter or math.isinf(policy.ttl_s) or not len(ids):
        return none
    early = 0.0 if log.running_s is None else float(min(log.running_s.min(), 0.0))  # a log may say anything
    shortest = policy.ttl_s * (1.0 - policy.ttl_jitter) * (1.0 - 1e-9) + early - 1e-3
    at = log.at[rows]
    if at[-1] - at[0] < shortest:
        return none
    count = int(ids.max()) + 1
    first, last = np.zeros(count), np.zeros(count)
    first[ids[::-1]] = at[::-1]  # of equal places the last one stays
    last[ids] = at
    many = np.bincount(ids, minlength=count) > 1
    return np.asarray((many & (last - first >= shortest))[ids])


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
