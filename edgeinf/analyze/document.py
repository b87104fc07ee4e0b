"""The findings as the JSON document that scripts rely on. Rates are 0 to 1; what the log cannot support is null, and
``absent`` says why."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from edgeinf.analyze.run import Analysis

__all__ = ["DENOMINATORS", "assumed", "document"]

DENOMINATORS = {
    "hit_rate": "hits / all requests read",
    "rates.requests": "hits / all requests read",
    "rates.tokens": "input and output tokens of hits / those of all requests that say",
    "rates.usd": "cost of hits / cost of all requests that say",
    "rates.seconds": "latency of hits / latency of all requests that say",
    "curves": "hits / look-ups of eligible requests (an embeddings request looks up each of its inputs)",
    "eligible.share": "eligible requests / all requests read",
    "repeats": "repeats of that kind / all repeats, whoever may share",
    "segments.hit_rate": "hits / requests of the segment",
    "misses.gain": "hits that removing the cause would add / all requests read",
    "prefix.block_rate": "blocks found / blocks referenced",
    "prefix.token_rate": "tokens in found prefixes / input tokens",
    "prefix.request_mean_rate": "mean over requests of blocks found / blocks of the request",
    "prefix.whole_request_rate": "requests whose every block was found / all requests with blocks",
    "risk.rate": "conflicting pairs / compared pairs, one pair per merged class",
}


def document(a: Analysis) -> dict[str, Any]:
    """Return the whole document."""
    default = a.default
    absent: dict[str, str] = {}
    found: dict[str, Any] = {
        "input": _input(a),
        "default": {
            "level": a.options.level,
            "scope": a.options.scope or ("as logged" if a.from_events else "key"),
            "ttl_s": _finite(a.options.policy.ttl_s),
            "hit_rate": default.worth.request_rate if default else None,
        },
        "levels": _levels(a, absent),
        "eligible": {
            "share": a.eligible / a.log.rows,
            "reasons": a.reasons,
            "by_sampling": {name: {"requests": n, "hits": hits} for name, (n, hits) in a.sampled.items()} or None,
        },
        "repeats": _repeats(a, absent),
        "curves": _curves(a, absent),
        "segments": _segments(a, absent),
        "top": [
            {"prompt": text, "requests": t.requests, "saved": {"hits": t.hits, "tokens": t.tokens, "usd": t.usd}}
            for t, text in a.top
        ],
        "misses": _misses(a, absent),
        "prefix": _prefix(a, absent),
        "gateways": [
            {
                "name": g.gateway.name,
                "rules_dated": g.gateway.dated,
                "hits": g.hits,
                "hit_rate": g.hit_rate,
                "approximate": True,
                "note": g.gateway.note,
            }
            for g in a.gateways
        ],
        "whatif": _whatif(a, absent),
        "warnings": a.warnings,
        "denominators": DENOMINATORS,
    }
    for path in _nulls(found):
        if not any(path == known or path.startswith(f"{known}.") for known in absent):
            absent[path] = _why(a, path)
    return {**found, "absent": absent}


def _nulls(value: Any, path: str = "") -> Iterator[str]:
    """Yield the path of each null outside lists."""
    if value is None:
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _nulls(inner, f"{path}.{key}" if path else key)


def _why(a: Analysis, path: str) -> str:
    """Return why something is null, where nothing more particular was said."""
    log = a.log
    if path == "default.ttl_s":
        return "endless"
    if not log.has_content and path.split(".")[0] in ("default", "curves", "segments", "repeats", "eligible", "misses"):
        return _no_level(a)
    if path.startswith("curves.entries_for_ceiling"):
        return "nothing repeats at this level"
    if path.startswith(("curves.", "input.")) or path in (
        "whatif.before.peak_concurrency",
        "whatif.after.peak_concurrency",
    ):
        return "no times in the log" if log.at is None else "no latencies in the log"
    if path.startswith("prefix."):
        return "the log does not count cached tokens" if "observed" in path else "no token counts in the log"
    if path.startswith("eligible."):
        return "the log has no prompts"
    if path.endswith("usd_month"):
        return "no costs, or no rate of requests to extend them to a month"
    if path.startswith("whatif."):
        return "no latencies in the log" if log.latency is None else "the log does not say"
    return "the log does not say"


def _finite(value: float | None) -> float | None:
    """Return a number that JSON can hold; endless is null."""
    return None if value is None or math.isinf(value) or math.isnan(value) else value


def _instant(at: float) -> str | float:
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z") if at >= 1e8 else at


def _input(a: Analysis) -> dict[str, Any]:
    log = a.log
    return {
        "files": list(a.sources.names),
        "format": a.format,
        "bytes": a.sources.size,
        "records": log.rows,
        "skipped": sum(log.skipped.values()),
        "skipped_reasons": dict(log.skipped),
        "first_at": None if log.at is None else _instant(float(log.at[0])),
        "last_at": None if log.at is None else _instant(float(log.at[-1])),
        "has_answers": a.has_answers,
        "has_times": log.at is not None,
    }


def _levels(a: Analysis, absent: dict[str, str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    before = 0
    for name, run in a.levels.items():
        if run is None:
            absent[f"levels.{name}"] = _no_level(a)
            rows.append({"level": name, "requests": a.log.rows, "hits": None, "hit_rate": None})
            continue
        w = run.worth
        rows.append(
            {
                "level": name,
                "requests": a.log.rows,
                "cacheable": a.eligible,
                "hits": run.hits,
                "hit_rate": w.request_rate,
                "unique": run.unique,
                "coalescable": int(run.coalesced.sum()),
                "rates": {
                    "requests": w.request_rate,
                    "tokens": w.token_rate,
                    "usd": w.usd_rate,
                    "seconds": w.second_rate,
                },
                "input_tokens_saved": w.input_tokens,
                "output_tokens_saved": w.output_tokens,
                "usd_saved": w.usd,
                "seconds_saved": w.seconds,
                "added_hits": run.hits - before,
                "risk": _risk(a, name, absent),
            }
        )
        before = run.hits
    log = a.log
    for column, what in ((log.input, "tokens"), (log.usd, "usd"), (log.latency, "seconds")):
        if column is None:
            absent[f"levels.rates.{what}"] = f"no {'latencies' if what == 'seconds' else what} in the log"
    return rows


def _repeats(a: Analysis, absent: dict[str, str]) -> dict[str, Any] | None:
    r = a.repeats
    if r is None:
        return None
    found = {
        "repeats": r.repeats,
        "same_session": r.same_session,
        "same_user": r.same_user,
        "same_tenant": r.same_tenant,
        "across_tenants": r.across_tenants,
        "consecutive": r.consecutive,
        "top10_share": r.top10_share,
    }
    for name, value in found.items():
        if value is None:
            what = "no repeats" if not r.repeats else f"the log names no {name.split('_')[1].rstrip('s')}s"
            absent[f"repeats.{name}"] = what
    return found


def _curves(a: Analysis, absent: dict[str, str]) -> dict[str, Any]:
    if a.log.at is None:
        absent["curves.ttl"] = absent["curves.ttl_capacity"] = "no times in the log"
    capacity: list[dict[str, Any]] = []
    ttl: list[dict[str, Any]] = []
    both: list[dict[str, Any]] = []
    reach = {}
    for level, c in a.curves.items():
        capacity += [
            {"level": level, "policy": "lru", "entries": entries, "hit_rate": rate}
            for entries, rate in c.capacity.points
        ]
        ttl += [{"level": level, "ttl_s": _finite(t), "hit_rate": rate} for t, rate in c.ttl or ()]
        both += [
            {"level": level, "ttl_s": _finite(t), "entries": entries, "hit_rate": rate}
            for t, entries, rate in c.ttl_capacity or ()
        ]
        reach[level] = {"for_90_percent": c.capacity.for_90, "for_99_percent": c.capacity.for_99}
    return {
        "capacity": capacity,
        "ttl": ttl or None,
        "ttl_capacity": both or None,
        "warmup": [{"requests": n, "hit_rate": rate, "recent_hit_rate": recent} for n, rate, recent in a.warmup],
        "entries_for_ceiling": reach,
    }


def _segments(a: Analysis, absent: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for kind, rows in a.segments.items():
        if rows is None:
            absent[f"segments.{kind}"] = f"the log names no {kind}s" if kind != "hour" else "no dates in the log"
        found[kind] = (
            None
            if rows is None
            else [{kind: s.value, "requests": s.requests, "hits": s.hits, "hit_rate": s.hit_rate} for s in rows]
        )
    return found


def _no_level(a: Analysis) -> str:
    if not a.log.has_content:
        return "the log has neither prompts nor keys"
    return "the log does not carry keys of this level"


def _risk(a: Analysis, level: str, absent: dict[str, str]) -> dict[str, Any] | None:
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


def _misses(a: Analysis, absent: dict[str, str]) -> list[dict[str, Any]] | None:
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


def _prefix(a: Analysis, absent: dict[str, str]) -> dict[str, Any] | None:
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
    }


def _whatif(a: Analysis, absent: dict[str, str]) -> dict[str, Any] | None:
    w = a.whatif
    if w is None:
        absent["whatif"] = _no_level(a)
        return None
    if a.log.latency is None:
        absent["whatif.before.p50_ms"] = "no latencies in the log"
    if w.before.usd_month is None:
        why = "no costs in the log and no known price" if a.log.usd is None else "the log is shorter than an hour"
        absent["whatif.before.usd_month"] = why + ("" if a.log.usd is None else ": give --requests-per-month")
    if w.agent_loop.network_ms is None:
        absent["whatif.agent_loop.network_ms"] = "no --probe file"
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
    return found
