"""Who repeats whom, and which questions repeat most."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from edgeinf.analyze.levels import LevelRun
from edgeinf.analyze.log import Log

__all__ = ["Repeats", "Top", "repeats", "top"]


class Repeats(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of all repeats, whoever may share: each repeat counts once, under the nearest relation to the one before
    it; None where the log does not say. ``consecutive`` and ``top10_share`` overlap with the others."""

    repeats: int
    same_session: float | None = None
    same_user: float | None = None
    same_tenant: float | None = None
    across_tenants: float | None = None
    consecutive: float | None = None
    top10_share: float | None = None


class Top(msgspec.Struct, frozen=True):
    """A question that is asked often: how often, its first row, and what its hits save."""

    row: int
    requests: int
    hits: int
    tokens: int | None
    usd: float | None


def repeats(log: Log, shared: LevelRun) -> Repeats:
    """Split the repeats of a level that everybody shares by who asked before."""
    accesses = shared.lookups(log).grouped()
    order, begins = accesses.order, accesses.begins
    again = np.flatnonzero(~begins).astype(np.int32)
    rows: Any = shared.rows if shared.rows is not None else np.arange(log.rows, dtype=np.uint32)
    now, before = rows[order[again]], rows[order[again - 1]]
    n = len(now)
    if not n:
        return Repeats(repeats=0)
    tenants = _tenant_numbers(log)
    left = np.ones(n, bool)
    shares: list[float | None] = []
    for column in (log.session, log.user):
        if column is None:
            shares.append(None)
            continue
        same = left & (column[now] == column[before]) & (column[now] != 0)
        if tenants is not None:
            same &= tenants[now] == tenants[before]
        shares.append(float(same.sum()) / n)
        left &= ~same
    if tenants is None:
        shares += [None, None]
    else:
        same = left & (tenants[now] == tenants[before])
        shares += [float(same.sum()) / n, float((left & ~same).sum()) / n]
    counts = np.bincount(accesses.ids)
    most = np.sort(counts)[::-1][:10]
    session, user, tenant, others = shares
    return Repeats(
        repeats=n,
        same_session=session,
        same_user=user,
        same_tenant=tenant,
        across_tenants=others,
        consecutive=float((now == before + 1).sum()) / n,
        top10_share=float((most - 1)[most > 1].sum()) / n,
    )


def _tenant_numbers(log: Log) -> Any:
    names: dict[str | None, int] = {}
    numbers = [names.setdefault(g.tenant or g.key_id or g.team, len(names)) for g in log.groups]
    if set(names) <= {None}:
        return None
    return np.array(numbers, np.int32)[log.group]


def top(log: Log, run: LevelRun, most: int = 10) -> list[Top]:
    """Return the questions with the most requests, with what their hits save; of equals the earliest."""
    ids = run.asked
    if not len(ids):
        return []
    counts = np.bincount(ids)
    rows: Any = run.rows if run.rows is not None else np.arange(log.rows, dtype=np.uint32)
    first = np.zeros(len(counts), np.uint32)
    first[ids[::-1]] = np.arange(len(ids), dtype=np.uint32)[::-1]
    found = []
    for number in np.lexsort((first, -counts))[:most]:
        if counts[number] < 2:
            break
        mine = rows[np.flatnonzero(ids == number)]
        hits = mine[run.hit[mine]]
        tokens = None
        if log.input is not None or log.output is not None:
            tokens = sum(
                int(np.maximum(c[hits], 0).sum(dtype=np.int64)) for c in (log.input, log.output) if c is not None
            )
        usd = None if log.usd is None else float(np.nansum(log.usd[hits], dtype=np.float64))
        found.append(Top(int(mine[0]), int(counts[number]), len(hits), tokens, usd))
    return found
