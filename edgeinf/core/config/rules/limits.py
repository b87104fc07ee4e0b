"""Limits that bind nothing, or let nothing pass."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from edgeinf.core.config.rule import Facts, Finding, Rule

__all__ = ["RULES"]


def _unbound(facts: Facts) -> Iterator[Finding]:
    for path, limit in facts.items("limits"):
        bounds = ("requests", "tokens", "concurrency", "budget")
        if all(getattr(limit, bound) is None for bound in bounds):
            yield Finding(
                path=path,
                message=f"the limit {limit.name!r} limits nothing",
                help="add one of: requests, tokens, concurrency, budget",
                needs=tuple((*path, bound) for bound in bounds),
                at_key=True,
            )


def _nothing_passes(facts: Facts) -> Iterator[Finding]:
    for path, limit in facts.items("limits"):
        for name in ("requests", "tokens"):
            rate = getattr(limit, name)
            if rate is not None and rate[0] == 0:
                yield Finding(
                    path=(*path, name),
                    message=f"{name} at 0 lets nothing pass",
                    help="remove the key's models instead, or give a rate above 0",
                )
        if limit.budget is not None and limit.budget.usd == 0:
            yield Finding(path=(*path, "budget", "usd"), message="a budget of 0 USD lets nothing pass", help="raise it")
        if limit.budget is not None and limit.budget.period == 0:
            yield Finding(path=(*path, "budget", "period"), message="a period of 0 never ends", help="for example 30d")


def _unknown_match(facts: Facts) -> Iterator[Finding]:
    keys = facts.names("auth", "keys", key="id")
    if keys is None or not facts.certain(("auth", "keys")):
        return
    teams = sorted({key.team for _, key in facts.items("auth", "keys") if key.team is not None})
    ids = [key for _, key in keys]
    known_by_name = {"team": (teams, set(teams)), "key": (ids, set(ids))}
    for path, limit in facts.items("limits"):
        if limit.match is None:
            continue
        for name, (known, among) in known_by_name.items():
            wanted = getattr(limit.match, name)
            if wanted is not None and wanted not in among:
                near = difflib.get_close_matches(wanted, known, n=1, cutoff=0.6)
                yield Finding(
                    path=(*path, "match", name),
                    message=f"no virtual key has the {'id' if name == 'key' else name} {wanted!r}, "
                    "so this limit would never hold",
                    label=f'did you mean "{near[0]}"?' if near else None,
                    help=f"{name}s: {', '.join(known[:8])}" if known else f"auth.keys names no {name}",
                )


_ACME = "auth: {keys: [{id: web, team: acme, sha256: '${KEY_SHA256}'}]}\n"

RULES = (
    Rule(
        code="E331",
        severity="error",
        title="a limit that limits nothing",
        why="It looks like protection and is none.",
        example="limits: [{name: agents, per: session}]",
        instead="limits: [{name: agents, per: session, requests: 600/min}]",
        check=_unbound,
    ),
    Rule(
        code="E332",
        severity="error",
        title="a limit that nothing can pass",
        why="Every call would be answered 429, for ever.",
        example="limits: [{name: all, requests: 0/min}]",
        instead="limits: [{name: all, requests: 60/min}]",
        check=_nothing_passes,
    ),
    Rule(
        code="E333",
        severity="error",
        title="a limit for a team or key that does not exist",
        why="A misspelt team would have no budget at all.",
        example=_ACME + "limits: [{name: b, match: {team: acne}, budget: {usd: 50}}]",
        instead=_ACME + "limits: [{name: b, match: {team: acme}, budget: {usd: 50}}]",
        check=_unknown_match,
    ),
)
