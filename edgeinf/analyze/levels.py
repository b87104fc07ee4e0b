"""What each level would have hit, and what those hits are worth."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from edgeinf.analyze import heap
from edgeinf.analyze.columns import ELIGIBLE, STORABLE
from edgeinf.analyze.dense import Ids, densify
from edgeinf.analyze.log import Log
from edgeinf.analyze.options import Options
from edgeinf.analyze.scopes import Scoped
from edgeinf.analyze.simulate import Lookups, Outcome, simulate
from edgeinf.analyze.spill import shelved
from edgeinf.core.eviction import LruTtl

__all__ = ["NO_ID", "LevelRun", "Worth", "run_level", "worth"]

NO_ID = np.uint32(0xFFFFFFFF)
Mask = npt.NDArray[np.bool_]


class Worth(msgspec.Struct, frozen=True):
    """What a set of requests amounts to, absolute and as a share of all requests; None where the log does not say."""

    requests: int
    request_rate: float
    input_tokens: int | None
    output_tokens: int | None
    token_rate: float | None
    usd: float | None
    usd_rate: float | None
    seconds: float | None
    second_rate: float | None


class LevelRun(msgspec.Struct, frozen=True):
    """One level, simulated. ``hit`` and ``coalesced`` are per request, ``ids`` per part (``NO_ID``: not eligible)."""

    level: str
    hit: Mask
    coalesced: Mask
    ids: Ids
    unique: int
    asked: Ids  # per look-up
    rows: npt.NDArray[np.uint32] | None  # the request of each look-up; None where they are the same
    worth: Worth

    def lookups(self, log: Log) -> Lookups:
        """Return the look-ups, of which only their ids are kept."""
        return _lookups(log, self.asked, self.rows)

    @property
    def hits(self) -> int:
        """Return how many requests hit."""
        return int(self.hit.sum())


def run_level(log: Log, level: str, scope: Scoped, options: Options) -> LevelRun:
    """Simulate one level over the whole log."""
    row_of_part = log.row_of_part
    eligible = log.has(ELIGIBLE)
    if scope.allowed is not None:
        eligible = eligible & scope.allowed
    hashes = log.keys[level]
    mixed = scope.key(log)
    if row_of_part is not None:
        eligible, mixed = eligible[row_of_part], mixed[row_of_part]
    chosen: Any = slice(None) if bool(eligible.all()) else np.flatnonzero(eligible).astype(np.uint32)
    mixed ^= hashes
    ids, distinct = densify(mixed[chosen])
    unique = len(distinct)
    del mixed, distinct
    rows = _rows(row_of_part, chosen, log.rows)
    life: Any = options.policy.ttl_s
    if options.policy.ttl_jitter and not _from_events(log):
        life = _lifetimes(ids, unique, hashes[chosen], options)
    parts = len(hashes)
    del hashes  # as large as half the columns
    ids_of_parts = ids
    if not isinstance(chosen, slice):
        ids_of_parts = np.full(parts, NO_ID, np.uint32)
        ids_of_parts[chosen] = ids
    if row_of_part is not None and rows is not None:
        # Equal parts of one request are one look-up: none can find what another is about to store.
        _, once = np.unique(rows.astype(np.uint64) << np.uint64(32) | ids, return_index=True)
        once.sort()
        ids, rows = ids[once], rows[once]
    lookups = _lookups(log, ids, rows)
    outcome = simulate(lookups.grouped(), life) if options.max_entries is None else _bounded(lookups, life, options)
    hit, coalesced = _per_request(outcome, rows, log.rows)
    del lookups, outcome, life
    hit, coalesced, asked = shelved(hit), shelved(coalesced), shelved(ids)
    of_parts = asked if ids is ids_of_parts else shelved(ids_of_parts)
    rows = None if rows is None else shelved(rows)
    del ids, ids_of_parts
    heap.give_back()
    return LevelRun(level, hit, coalesced, of_parts, unique, asked, rows, worth(log, hit))


def _lookups(log: Log, ids: Ids, rows: npt.NDArray[np.uint32] | None) -> Lookups:
    of_row: Any = slice(None) if rows is None else rows
    return Lookups(
        ids,
        log.has(STORABLE)[of_row],
        None if log.at is None else log.at[of_row],
        None if log.running_s is None else log.running_s[of_row],
    )


def _rows(row_of_part: Any, chosen: Any, count: int) -> npt.NDArray[np.uint32] | None:
    if row_of_part is not None:
        return np.asarray(row_of_part[chosen], np.uint32)
    return None if isinstance(chosen, slice) else np.asarray(chosen, np.uint32)


def _from_events(log: Log) -> bool:
    return any(group.scope_kind is not None for group in log.groups)


def _lifetimes(ids: Ids, unique: int, hashes: npt.NDArray[np.uint64], options: Options) -> Any:
    """Return how long an answer lives per id, as ``core.cacheable.lifetime_s`` does from the same digest."""
    digest = np.zeros(unique, np.uint64)
    digest[ids] = hashes
    return options.policy.ttl_s * (1.0 - options.policy.ttl_jitter * (digest.astype(np.float64) / 2.0**64))


def _per_request(outcome: Outcome, rows: npt.NDArray[np.uint32] | None, count: int) -> tuple[Mask, Mask]:
    """A request hits when all its parts do, and is coalesced when the rest of them are."""
    if rows is None:
        return outcome.hit, outcome.coalesced
    parts = np.bincount(rows, minlength=count)
    hits = np.bincount(rows, weights=outcome.hit, minlength=count)
    either = np.bincount(rows, weights=outcome.hit | outcome.coalesced, minlength=count)
    hit = (parts > 0) & (hits == parts)
    return hit, (parts > 0) & (either == parts) & ~hit


def _bounded(accesses: Lookups, life: Any, options: Options) -> Outcome:
    """Simulate a memory tier of limited entries, one access after the other, with the live cache's own policy."""
    n = len(accesses.ids)
    hit, coalesced = np.zeros(n, bool), np.zeros(n, bool)
    tier: LruTtl[int, float] = LruTtl(max_entries=options.max_entries)
    at = accesses.at.tolist() if accesses.at is not None else [0.0] * n
    running = accesses.running_s.tolist() if accesses.running_s is not None else [0.0] * n
    lives = (
        life[accesses.ids].tolist()
        if isinstance(life, np.ndarray)
        else [life if accesses.at is not None else np.inf] * n
    )
    for number, (key, storable) in enumerate(zip(accesses.ids.tolist(), accesses.storable.tolist(), strict=True)):
        now = at[number]
        done = tier.get(key, now)
        if done is not None:
            (coalesced if now < done else hit)[number] = True
        elif storable:
            done = now + running[number]
            tier.put(key, done, now=done, ttl_s=lives[number])
    return Outcome(hit, coalesced)


def worth(log: Log, chosen: Mask) -> Worth:
    """Return what the chosen requests amount to."""
    requests = int(chosen.sum())
    tokens_in, all_in = _sums(log.input, chosen)
    tokens_out, all_out = _sums(log.output, chosen)
    tokens = None if all_in is None and all_out is None else (all_in or 0) + (all_out or 0)
    usd, all_usd = _float_sums(log.usd, chosen)
    seconds, all_seconds = _float_sums(log.latency, chosen)
    return Worth(
        requests=requests,
        request_rate=requests / log.rows if log.rows else 0.0,
        input_tokens=tokens_in,
        output_tokens=tokens_out,
        token_rate=None if not tokens else ((tokens_in or 0) + (tokens_out or 0)) / tokens,
        usd=usd,
        usd_rate=None if usd is None or not all_usd else usd / all_usd,
        seconds=None if seconds is None else seconds / 1000,
        second_rate=None if seconds is None or not all_seconds else seconds / all_seconds,
    )


def _sums(column: npt.NDArray[np.int32] | None, chosen: Mask) -> tuple[int | None, int | None]:
    if column is None:
        return None, None
    known = column >= 0
    return int(column[chosen & known].sum(dtype=np.int64)), int(column[known].sum(dtype=np.int64))


def _float_sums(column: npt.NDArray[np.float32] | None, chosen: Mask) -> tuple[float | None, float | None]:
    if column is None:
        return None, None
    return float(np.nansum(column[chosen], dtype=np.float64)), float(np.nansum(column, dtype=np.float64))
