"""Times that work against each other."""

from __future__ import annotations

from collections.abc import Iterator

from edgeinf.core.config.rule import Facts, Finding, Rule
from edgeinf.core.units import format_duration

__all__ = ["RULES"]


def _stale_over_ttl(facts: Facts) -> Iterator[Finding]:
    cache = facts.config.cache
    for name in ("stale_if_error", "stale_while_revalidate"):
        stale, path = getattr(cache, name), ("cache", name)
        if facts.given(path) and 0 < cache.ttl < stale:
            yield Finding(
                path=path,
                message=f"cache.{name} {format_duration(stale)} is longer than the ttl {format_duration(cache.ttl)}: "
                "an answer would be stale for longer than it was fresh",
                help=f"at most {format_duration(cache.ttl)}, or raise the ttl",
                needs=(("cache", "ttl"),),
            )


def _no_ttl(facts: Facts) -> Iterator[Finding]:
    cache = facts.config.cache
    if cache.ttl == 0 and cache.stale_while_revalidate == 0:
        yield Finding(
            path=("cache", "ttl"),
            message="a ttl of 0 keeps no answer",
            help="give a time, such as 24h; a client that wants none sends Cache-Control: no-store",
            needs=(("cache", "stale_while_revalidate"),),
        )


def _idle_over_total(facts: Facts) -> Iterator[Finding]:
    for path, region in facts.items("regions"):
        here, whole = (*path, "timeouts", "idle"), (*path, "timeouts", "total")
        times = region.timeouts
        if facts.given(here) and facts.given(whole) and times.idle > times.total:
            yield Finding(
                path=here,
                message=f"timeouts.idle {format_duration(times.idle)} never runs out before timeouts.total "
                f"{format_duration(times.total)}",
                help="make it shorter, or remove it",
                related=(("total is here", whole),),
                needs=(whole,),
            )


def _late_hedge(facts: Facts) -> Iterator[Finding]:
    hedge = facts.config.routing.hedge
    if hedge is None or isinstance(hedge.after, str):
        return
    limits = [region.timeouts.ttft for _, region in facts.items("regions")]
    if limits and hedge.after >= max(limits):
        yield Finding(
            path=("routing", "hedge", "after"),
            message=f"a second try after {format_duration(hedge.after)} comes after every region's timeouts.ttft",
            help=f"make it shorter than {format_duration(max(limits))}, or write p95",
            needs=(("regions",),),
        )


def _slow_probe(facts: Facts) -> Iterator[Finding]:
    health = facts.config.routing.health
    if health.active is not None and health.active.every > health.window:
        yield Finding(
            path=("routing", "health", "active", "every"),
            message=f"a region is asked every {format_duration(health.active.every)}, "
            f"but only the last {format_duration(health.window)} count",
            help="ask more often, or widen health.window",
            needs=(("routing", "health", "window"),),
        )


def _slow_tier(facts: Facts) -> Iterator[Finding]:
    shared = facts.config.cache.shared
    if shared is not None and shared.timeout > 1:
        yield Finding(
            path=("cache", "shared", "timeout"),
            message=f"each miss may wait {format_duration(shared.timeout)} for the shared tier",
            help="a tier nearby answers within 50ms",
        )


_REGION = "regions: [{name: a, url: https://a.example.com, timeouts: {%s}}]"

_PAIR = (
    "regions:\n  - {name: a, url: https://a.example.com, timeouts: {ttft: 10s}}\n"
    "  - {name: b, url: https://b.example.com, timeouts: {ttft: 10s}}\n"
)

RULES = (
    Rule(
        code="W321",
        severity="warning",
        title="stale for longer than fresh",
        why="Most of its life an entry would be served past its time.",
        example="cache: {ttl: 5m, stale_if_error: 1h, max_temperature: 0}",
        instead="cache: {ttl: 24h, stale_if_error: 1h, max_temperature: 0}",
        check=_stale_over_ttl,
    ),
    Rule(
        code="W322",
        severity="warning",
        title="a cache that keeps nothing",
        why="Every question goes to the origin, and the tiers take memory and disk for nothing.",
        example="cache: {ttl: 0, max_temperature: 0}",
        instead="cache: {ttl: 1h, max_temperature: 0}",
        check=_no_ttl,
    ),
    Rule(
        code="W323",
        severity="warning",
        title="an idle time-out that never runs out",
        why="The whole call ends sooner, so a stalled stream is not noticed early.",
        example=_REGION % "idle: 20m, total: 10m",
        instead=_REGION % "idle: 30s, total: 10m",
        check=_idle_over_total,
    ),
    Rule(
        code="W324",
        severity="warning",
        title="a hedge that comes too late",
        why="The first try has already failed by then.",
        example=_PAIR + "routing: {hedge: {after: 20s}}",
        instead=_PAIR + "routing: {hedge: {after: p95}}",
        check=_late_hedge,
    ),
    Rule(
        code="W325",
        severity="warning",
        title="health is asked less often than it counts",
        why="Between two answers the window is empty and the region counts as well.",
        example="routing: {health: {window: 10s, active: {every: 60s}}}",
        instead="routing: {health: {window: 60s, active: {every: 10s}}}",
        check=_slow_probe,
    ),
    Rule(
        code="W326",
        severity="warning",
        title="a shared tier that may be slow",
        why="A miss waits for it, so a slow tier makes every new question slower.",
        example="cache: {shared: {url: 'redis://10.0.0.5/0', timeout: 5s}, max_temperature: 0}",
        instead="cache: {shared: {url: 'redis://10.0.0.5/0', timeout: 50ms}, max_temperature: 0}",
        check=_slow_tier,
    ),
)
