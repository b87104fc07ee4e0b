"""The findings as the JSON document that scripts rely on. Rates are 0 to 1; what the log cannot support is null, and
``absent`` says why."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from edgeinf.analyze.document_parts import misses, no_level, prefix, risk, what_if
from edgeinf.analyze.run import Analysis

__all__ = ["DENOMINATORS", "document"]

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
    "prefix.breaks.places.share": "prompts that part first at the place / long prompts compared",
    "risk.rate": "conflicting pairs / compared pairs, one pair per merged class",
}

_LAST = 253_402_300_800.0  # the end of the year 9999
_UNKNOWN: dict[str, Any] = {
    "cacheable": None,
    "hits": None,
    "hit_rate": None,
    "unique": None,
    "coalescable": None,
    "rates": dict.fromkeys(("requests", "tokens", "usd", "seconds")),
    "input_tokens_saved": None,
    "output_tokens_saved": None,
    "usd_saved": None,
    "seconds_saved": None,
    "added_hits": None,
    "risk": None,
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
        "misses": misses(a, absent),
        "prefix": prefix(a, absent),
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
        "whatif": what_if(a, absent),
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
        return no_level(a)
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
    return datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z") if 1e8 <= at < _LAST else at


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
            absent[f"levels.{name}"] = no_level(a)
            rows.append({"level": name, "requests": a.log.rows, **_UNKNOWN})
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
                "risk": risk(a, name, absent),
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
    if a.default is None:
        return dict.fromkeys(("model", "route", "tenant", "hour"))
    for kind, rows in a.segments.items():
        if rows is None:
            absent[f"segments.{kind}"] = f"the log names no {kind}s" if kind != "hour" else "no dates in the log"
        found[kind] = (
            None
            if rows is None
            else [{kind: s.value, "requests": s.requests, "hits": s.hits, "hit_rate": s.hit_rate} for s in rows]
        )
    return found
