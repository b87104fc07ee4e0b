"""The provider's prefix cache: what it gave, what it could give, and where prompts part.

A prompt is a chain of blocks; a block found means that everything up to its end was sent before. Token counts come
from the log where it has them; a block's own tokens are the trace's, or an estimate by bytes for logs of text.
"""

from __future__ import annotations

from importlib import resources
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from edgeinf.analyze.breaks import Breaks, breaks
from edgeinf.analyze.log import Log
from edgeinf.analyze.simulate import grouped, simulate
from edgeinf.analyze.stack import FIRST, previous, stack_distances
from edgeinf.core.errors import UsageError

__all__ = ["Prefix", "PrefixRule", "Provider", "RuleTable", "load_rules", "prefix"]

_SIZES = (1_000, 5_000, 10_000, 50_000, 100_000, 500_000)
_TTLS_S = (60.0, 300.0, 600.0, 3600.0)
_NEAR_MISS = 0.75


class PrefixRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One provider's rule: tokens below ``minimum`` are never cached, hits come in steps, an entry lives while it is
    used within ``idle_s``; reads and writes cost these multiples of the price of input."""

    name: str
    title: str
    minimum: int
    step: int
    idle_s: float
    read: float
    write: float
    note: str = ""


class RuleTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rules and when they were read."""

    dated: str
    rules: tuple[PrefixRule, ...]


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule would give on this log."""

    rule: PrefixRule
    dated: str
    cached_tokens: int
    cached_token_rate: float
    usd_saved: float | None


class Prefix(msgspec.Struct, frozen=True, kw_only=True):
    """What repeats at the start of prompts. Each rate names its own denominator in the report."""

    block_tokens: int
    estimated: bool
    refs: int
    unique: int
    hits: int
    block_rate: float
    token_rate: float | None
    request_mean_rate: float
    request_mean_token_rate: float | None
    any_hit_rate: float
    whole_request_rate: float
    lru: list[tuple[int, float]]
    ttl: list[tuple[float, float]] | None
    observed_cached_tokens: int | None
    observed_token_rate: float | None
    providers: list[Provider]
    just_below: int
    breaks: Breaks | None


def load_rules(path: str | None = None) -> RuleTable:
    """Return the shipped rules, or those of a file of the same form. Raise UsageError."""
    if path is None:
        data = resources.files("edgeinf.analyze").joinpath("prefix_rules.json").read_bytes()
    else:
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    try:
        return msgspec.json.decode(data, type=RuleTable)
    except msgspec.DecodeError as error:
        raise UsageError(f"{path} is no table of prefix rules: {error}") from None


def prefix(log: Log, rules: RuleTable, price_of: Any = None, sizes: tuple[int, ...] = ()) -> Prefix | None:
    """Return the findings; None where no prompt has a block. ``price_of`` gives USD per token of input by model."""
    if log.block is None or log.blocks is None:
        return None
    ids, counts = log.block, log.blocks
    rows = np.repeat(np.arange(log.rows, dtype=np.uint32), counts)
    starts = (np.cumsum(counts, dtype=np.int64) - counts).astype(np.int64)
    before = previous(ids)
    found = before != FIRST
    tokens = _block_tokens(log, rows, starts)
    with_blocks = counts > 0
    requests = int(with_blocks.sum())
    per_request = np.bincount(rows, weights=found, minlength=log.rows)[with_blocks] / counts[with_blocks]
    mean_tokens = None
    token_rate = None
    if tokens is not None:
        whole = np.bincount(rows, weights=tokens, minlength=log.rows)[with_blocks]
        part = np.bincount(rows, weights=tokens * found, minlength=log.rows)[with_blocks]
        mean_tokens = float((part / np.maximum(whole, 1)).mean())
        token_rate = float((tokens * found).sum() / _all_tokens(log, tokens, with_blocks))
    distances = stack_distances(before)
    by_distance = np.cumsum(np.bincount(distances[distances >= 0])) if found.any() else np.zeros(1, np.int64)
    lru_sizes = sizes or tuple(n for n in _SIZES if n < 2 * len(by_distance)) or (len(by_distance),)
    observed = None if log.cached is None else int(np.maximum(log.cached, 0).sum(dtype=np.int64))
    return Prefix(
        block_tokens=log.block_tokens,
        estimated=log.keys_known,
        refs=len(ids),
        unique=int((~found).sum()),
        hits=int(found.sum()),
        block_rate=float(found.mean()),
        token_rate=token_rate,
        request_mean_rate=float(per_request.mean()),
        request_mean_token_rate=mean_tokens,
        any_hit_rate=float((per_request > 0).sum()) / requests,
        whole_request_rate=float((per_request == 1).sum()) / requests,
        lru=[(n, float(by_distance[min(n, len(by_distance)) - 1]) / len(ids)) for n in lru_sizes],
        ttl=_ttl(log, ids, rows),
        observed_cached_tokens=observed,
        observed_token_rate=_observed_rate(log, observed),
        providers=[_provider(log, rule, rules.dated, before, rows, starts, price_of) for rule in rules.rules],
        just_below=_just_below(log, rules),
        breaks=breaks(log, before),
    )


def _block_tokens(log: Log, rows: Any, starts: Any) -> npt.NDArray[np.float64] | None:
    """Return the tokens of each block: full ones, and of a trace's last block what is left of the input."""
    tokens = np.full(len(rows), float(log.block_tokens))
    if log.input is None or log.keys_known:
        return tokens
    assert log.blocks is not None
    has = np.flatnonzero(log.blocks > 0)
    last = starts[has] + log.blocks[has].astype(np.int64) - 1
    left = log.input[has] - (log.blocks[has].astype(np.int64) - 1) * log.block_tokens
    tokens[last] = np.clip(left, 0, log.block_tokens)
    return tokens


def _all_tokens(log: Log, tokens: Any, with_blocks: Any) -> float:
    if log.input is None:
        return float(tokens.sum())
    return float(np.maximum(log.input[with_blocks], 0).sum(dtype=np.int64)) or float(tokens.sum())


def _ttl(log: Log, ids: Any, rows: Any) -> list[tuple[float, float]] | None:
    if log.at is None:
        return None
    accesses = grouped(ids, np.ones(len(ids), bool), log.at[rows])
    return [(t, float(simulate(accesses, t).hit.mean())) for t in _TTLS_S]


def _observed_rate(log: Log, observed: int | None) -> float | None:
    if observed is None or log.input is None or log.cached is None:
        return None
    said = (log.cached >= 0) & (log.input > 0)
    total = int(log.input[said].sum(dtype=np.int64))
    return observed / total if total else None


def _provider(log: Log, rule: PrefixRule, dated: str, before: Any, rows: Any, starts: Any, price_of: Any) -> Provider:
    """Return what a rule gives: the unbroken run of blocks that were used within its idle time, if long enough."""
    assert log.blocks is not None
    found = before != FIRST
    if log.at is not None:
        at = log.at[rows]
        found &= (at - at[np.maximum(before, 0)]) < rule.idle_s
    place = np.arange(len(rows)) - np.repeat(starts, log.blocks)
    breaks = np.where(found, np.iinfo(np.int64).max, place)
    run = log.blocks.astype(np.int64).copy()
    has = np.flatnonzero(log.blocks > 0)
    if len(has):
        run[has] = np.minimum(np.minimum.reduceat(breaks, starts[has]), log.blocks[has])
    cached = run * log.block_tokens
    if log.input is not None:
        cached = np.where(log.input >= 0, np.minimum(cached, log.input), cached)
    cached = np.where(cached >= rule.minimum, cached // rule.step * rule.step, 0)
    total = int(np.maximum(log.input, 0).sum(dtype=np.int64)) if log.input is not None else len(rows) * log.block_tokens
    sent = log.blocks.astype(np.int64) * log.block_tokens
    written = np.where(sent >= rule.minimum, np.maximum(sent - cached, 0), 0)
    return Provider(
        rule=rule,
        dated=dated,
        cached_tokens=int(cached.sum()),
        cached_token_rate=float(cached.sum() / total) if total else 0.0,
        usd_saved=_usd(log, rule, cached, written, price_of),
    )


def _usd(log: Log, rule: PrefixRule, cached: Any, written: Any, price_of: Any) -> float | None:
    if price_of is None:
        return None
    prices = [price_of(group.model) for group in log.groups]
    if all(p is None for p in prices):
        return None
    price = np.array([0.0 if p is None else p for p in prices])[log.group]
    return float((price * (cached * (1 - rule.read) - written * (rule.write - 1))).sum())


def _just_below(log: Log, rules: RuleTable) -> int:
    """Return how many prompts miss the smallest minimum by less than a quarter."""
    if log.input is None:
        return 0
    minimum = min(rule.minimum for rule in rules.rules)
    return int(((log.input >= _NEAR_MISS * minimum) & (log.input < minimum)).sum())
