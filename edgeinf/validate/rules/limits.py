"""Limits that never come into play."""

from __future__ import annotations

from collections.abc import Iterator

from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]


def _nobody(facts: Facts) -> Iterator[Finding]:
    if facts.config.auth and facts.config.auth.keys:
        teams = any(key.team for key in facts.config.auth.keys)
    elif facts.config.auth is None or not facts.config.auth.keys:
        teams = False
    for path, limit in facts.items("limits"):
        if limit.per == "team" and not teams and limit.match is None:
            yield Finding(
                path=(*path, "per"),
                message=f"the limit {limit.name!r} counts per team, and no virtual key has a team",
                help="add a team to auth.keys, or count per key",
                needs=(("auth",),),
            )


def _concurrency(facts: Facts) -> Iterator[Finding]:
    for path, limit in facts.items("limits"):
        if limit.concurrency is not None and limit.requests is not None and limit.concurrency > limit.requests[0]:
            yield Finding(
                path=(*path, "concurrency"),
                message=f"{limit.concurrency} calls at once are never reached: requests end at {limit.requests[0]:g}",
                help="lower concurrency, or raise requests",
                related=(("requests are limited here", (*path, "requests")),),
                needs=((*path, "requests"),),
            )


def _too_small(facts: Facts) -> Iterator[Finding]:
    most = facts.config.guard.max_input_tokens
    for path, limit in facts.items("limits"):
        if most is not None and limit.tokens is not None and limit.tokens[0] < most:
            yield Finding(
                path=(*path, "tokens"),
                message=f"{limit.tokens[0]:g} tokens never admit a call of {most}, which the guard allows",
                help=f"at least {most} per period, or lower guard.max_input_tokens",
                related=(("calls are admitted up to here", ("guard", "max_input_tokens")),),
                needs=(("guard", "max_input_tokens"),),
            )


def _database(url: str) -> str:
    head, _, tail = url.split("?", 1)[0].rpartition("/")
    return (
        url.split("?", 1)[0] if tail.isdigit() and "//" not in tail and head.count("/") > 1 else url.rstrip("/") + "/0"
    )


def _one_database(facts: Facts) -> Iterator[Finding]:
    cache, limits = facts.config.cache.shared, facts.config.limits_shared
    if cache is not None and limits is not None and _database(cache.url) == _database(limits.url):
        yield Finding(
            path=("limits_shared", "url"),
            message="limits and cache share one Redis database: when the cache fills it, counters are evicted too",
            help="give limits a database of their own, such as …/1, on a server that evicts nothing",
            related=(("the cache's is here", ("cache", "shared", "url")),),
            needs=(("cache", "shared", "url"),),
        )


RULES = (
    Rule(
        code="W331",
        severity="warning",
        title="a limit per team without teams",
        why="No call belongs to a team, so it binds nobody.",
        example="limits: [{name: t, per: team, requests: 60/min}]",
        instead="limits: [{name: t, per: key, requests: 60/min}]",
        check=_nobody,
    ),
    Rule(
        code="W332",
        severity="warning",
        title="concurrency above the rate",
        why="The rate ends the calls first, so the second number has no effect.",
        example="limits: [{name: a, requests: 5/min, concurrency: 8}]",
        instead="limits: [{name: a, requests: 60/min, concurrency: 8}]",
        check=_concurrency,
    ),
    Rule(
        code="W333",
        severity="warning",
        title="a limit that an allowed call can never meet",
        why="A prompt that the guard lets through would be answered 429 for ever.",
        example="guard: {max_input_tokens: 32000}\nlimits: [{name: a, tokens: 10k/min}]",
        instead="guard: {max_input_tokens: 32000}\nlimits: [{name: a, tokens: 100k/min}]",
        check=_too_small,
    ),
    Rule(
        code="W336",
        severity="warning",
        title="limits and cache in one database",
        why="A cache evicts what is old; an evicted counter starts at zero, and a budget is open again.",
        example="cache: {shared: {url: 'redis://10.0.0.5:6379/0'}, max_temperature: 0}\n"
        "limits_shared: {url: 'redis://10.0.0.5:6379'}",
        instead="cache: {shared: {url: 'redis://10.0.0.5:6379/0'}, max_temperature: 0}\n"
        "limits_shared: {url: 'redis://10.0.0.5:6379/1'}",
        check=_one_database,
    ),
)
