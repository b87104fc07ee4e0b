"""Parts of the document that have a module of their own behind them: risk, misses, prefix cache, what-if."""

from __future__ import annotations

from typing import Any

import msgspec

from edgeinf.analyze.breaks import Breaks
from edgeinf.analyze.run import Analysis

__all__ = ["assumed", "misses", "no_level", "prefix", "risk", "what_if"]


def no_level(a: Analysis) -> str:
    """Return why a level has no figures."""
    if not a.log.has_content:
        return "the log has neither prompts nor keys"
    return "the log does not carry keys of this level"


def risk(a: Analysis, level: str, absent: dict[str, str]) -> dict[str, Any] | None:
    """Return the risk of a level."""
    r = a.risk.get(level)
    if r is None:
        first = next((name for name, run in a.levels.items() if run is not None), None)
        if level == first:
            why = "the first level merges nothing but equal requests"
        else:
            why = "no answers in the log" if not a.has_answers else "requests of several parts are not compared"
        absent[f"levels.{level}.risk"] = why
        return None
    if r.why is not None:
        absent[f"levels.{level}.risk.rate"] = r.why
    return {
        "merged_classes": r.classes,
        "compared": r.compared,
        "conflicts": r.conflicts,
        "rate": r.rate,
        "baseline": r.baseline,
        "baseline_compared": r.baseline_compared,
        "low": r.low,
        "high": r.high,
        "examples": [
            {
                "where": e.path,
                "a": e.a,
                "b": e.b,
                "answer_a": e.answer_a,
                "answer_b": e.answer_b,
                "conflict": e.conflict,
            }
            for e in r.examples
        ],
    }


def misses(a: Analysis, absent: dict[str, str]) -> list[dict[str, Any]] | None:
    """Return the causes of misses."""
    m = a.misses
    if m is None:
        absent["misses"] = "no prompts in the log" if not a.log.keys_known else "no question to compare"
        return None
    return [
        {
            "cause": " and ".join(c.what for c in miss.causes),
            "where": ", ".join(c.where for c in miss.causes),
            "requests": miss.requests,
            "gain": miss.gain,
            "advice": miss.advice,
            "example": {"where": miss.path, "a": miss.a, "b": miss.b},
        }
        for miss in m.causes
    ]


def prefix(a: Analysis, absent: dict[str, str]) -> dict[str, Any] | None:
    """Return the prefix cache."""
    p = a.prefix
    if p is None:
        observed = None if a.log.cached is None else "; the log's own counts of cached tokens are zero or short"
        absent["prefix"] = "no prompt is long enough to be cached by a provider (384 tokens)" + (observed or "")
        return None
    if p.ttl is None:
        absent["prefix.ttl"] = "no times in the log"
    if p.observed_cached_tokens is None:
        absent["prefix.observed_cached_tokens"] = "the log does not count cached tokens"
    if all(v.usd_saved is None for v in p.providers):
        absent["prefix.providers.usd_saved"] = "no price is known for the models of the log"
    if p.breaks is None:
        absent["prefix.breaks"] = "no prompts in the log"
    return {
        "block_tokens": p.block_tokens,
        "tokens_estimated": p.estimated,
        "refs": p.refs,
        "unique": p.unique,
        "hits": p.hits,
        "block_rate": p.block_rate,
        "token_rate": p.token_rate,
        "request_mean_rate": p.request_mean_rate,
        "request_mean_token_rate": p.request_mean_token_rate,
        "any_hit_rate": p.any_hit_rate,
        "whole_request_rate": p.whole_request_rate,
        "lru": [{"capacity": n, "block_rate": rate} for n, rate in p.lru],
        "ttl": None if p.ttl is None else [{"ttl_s": t, "block_rate": rate} for t, rate in p.ttl],
        "observed_cached_tokens": p.observed_cached_tokens,
        "observed_token_rate": p.observed_token_rate,
        "just_below_minimum": p.just_below,
        "providers": [
            {
                "name": v.rule.name,
                "title": v.rule.title,
                "rules_dated": v.dated,
                "cached_tokens": v.cached_tokens,
                "cached_token_rate": v.cached_token_rate,
                "usd_saved": v.usd_saved,
                "note": v.rule.note,
            }
            for v in p.providers
        ],
        "breaks": None if p.breaks is None else _breaks(p.breaks),
    }


def _breaks(b: Breaks) -> dict[str, Any]:
    """Return where prompts part first; ``start`` and ``end`` are a half-open range of characters."""
    return {
        "prompts": b.prompts,
        "compared": b.compared,
        "sampled": b.sampled,
        "broken": b.broken,
        "recoverable_tokens": b.tokens,
        "places": [
            {
                "route": place.route,
                "template": place.template,
                "where": place.path,
                "role": place.role,
                "kind": place.kind,
                "cause": place.what,
                "start": place.start,
                "end": place.end,
                "prompts": place.prompts,
                "share": place.share,
                "shared_tokens_before": place.shared,
                "recoverable_tokens": place.tokens,
                "also": [
                    {"where": o.path, "kind": o.kind, "cause": o.what, "start": o.start, "end": o.end}
                    for o in place.also
                ],
                "advice": place.advice,
                "example": {"a": place.a, "b": place.b},
            }
            for place in b.places
        ],
    }


def what_if(a: Analysis, absent: dict[str, str]) -> dict[str, Any] | None:
    """Return both sides of the what-if."""
    w = a.whatif
    if w is None:
        absent["whatif"] = no_level(a)
        return None
    if a.log.latency is None:
        absent["whatif.before.p50_ms"] = "no latencies in the log"
    if w.before.usd_month is None:
        why = "no costs in the log and no known price" if a.log.usd is None else "the log is shorter than an hour"
        absent["whatif.before.usd_month"] = why + ("" if a.log.usd is None else ": give --requests-per-month")
    if w.agent_loop.network_ms is None:
        absent["whatif.agent_loop.network_ms"] = "no --probe file"
        absent["whatif.agent_loop.network_share"] = "no --probe file"
    return {
        "before": msgspec.to_builtins(w.before),
        "after": msgspec.to_builtins(w.after),
        "agent_loop": msgspec.to_builtins(w.agent_loop),
        "identity": w.identity,
        "break_even_hit_rate": w.break_even_hit_rate,
        "assumptions": w.assumptions + assumed(a),
    }


def assumed(a: Analysis) -> list[str]:
    """Return what was taken for granted besides the what-if's own assumptions."""
    found = list(a.options.notes)
    if a.priced:
        found.append(f"costs of {a.priced} requests come from the prices of their models, not from the log")
    if a.options.policy.ttl_jitter and a.from_events:
        found.append("events carry no digest that spreads the ends of entries: the ttl is taken without jitter")
    if a.options.max_entries is None:
        found.append("nothing is evicted; a disk or Redis tier evicts by its own policy once it is full")
    else:
        found.append(f"{a.options.max_entries:,} entries are kept, the least recently used goes first")
    return found
