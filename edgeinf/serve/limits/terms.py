"""What the config's limits ask of one call: which hold, whose counter it is, and when it is charged.

A caller without what a limit counts by (no team, no session) shares one counter with its own other such calls, so that
leaving a header out evades nothing. Sessions and header values are counted within their key: no tenant can use up
another's by guessing a name.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import msgspec

from edgeinf.core.config.schema import Limit
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.guard.clients import subject_of
from edgeinf.serve.limits.base import Charge, Kind
from edgeinf.serve.limits.report import plain

__all__ = ["Bounds", "Term", "Terms", "caller_name", "subject"]


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """One bound of one limit. ``early`` ones are charged before the lookup, so that hits count against them."""

    limit: str
    kind: Kind
    per: str
    capacity: float
    period_s: float
    key: str | None
    team: str | None
    model: str | None
    early: bool
    charges_hits: bool
    label: str  # its name in headers, and its policy, both as structured fields
    policy: str

    def matches(self, x: Exchange) -> bool:
        """Return whether this bound is about the call."""
        return (
            (self.key is None or self.key == x.key_id)
            and (self.team is None or self.team == x.team)
            and (self.model is None or (x.call is not None and self.model == x.call.model))
        )

    def charge(self, subject: str, cost: float) -> Charge:
        """Return what a call costs here."""
        return Charge(
            limit=self.limit,
            kind=self.kind,
            subject=subject,
            capacity=self.capacity,
            period_s=self.period_s,
            cost=cost,
        )


class Bounds:
    """The bounds that are charged at one moment."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = tuple(terms)
        self.weighs = any(term.kind in ("tokens", "budget") for term in terms)
        self.prices = any(term.kind == "budget" for term in terms)
        self._picks = any(not (term.key is term.team is term.model is None) for term in terms)

    def held(self, x: Exchange) -> Sequence[Term]:
        """Return those that are about a call."""
        return [term for term in self.terms if term.matches(x)] if self._picks else self.terms

    def __bool__(self) -> bool:
        return bool(self.terms)


class Terms:
    """Every bound of a config, those before the lookup apart from those on the way to the origin."""

    def __init__(self, limits: Sequence[Limit]) -> None:
        every = [term for limit, name in zip(limits, _names(limits), strict=True) for term in _terms(limit, name)]
        self.early = Bounds([term for term in every if term.early])
        self.late = Bounds([term for term in every if not term.early])
        # Counting requests needs no count of tokens, so it is decided without waiting.
        self.at_once = all(term.kind == "requests" for term in self.early.terms)
        self.by_address = any(term.per == "ip" for term in every)
        self.counts_tokens = any(term.kind in ("tokens", "budget") for term in every)


def _names(limits: Sequence[Limit]) -> list[str]:
    """Return a name for each limit; counters go by name, so a second limit of the same name gets another."""
    seen: Counter[str] = Counter()
    names = []
    for limit in limits:
        seen[limit.name] += 1
        names.append(limit.name if seen[limit.name] == 1 else f"{limit.name}#{seen[limit.name]}")
    return names


def _terms(limit: Limit, name: str) -> list[Term]:
    match = limit.match
    bounds: list[tuple[Kind, float, float]] = []
    if limit.requests is not None:
        bounds.append(("requests", *limit.requests))
    if limit.tokens is not None:
        bounds.append(("tokens", *limit.tokens))
    if limit.concurrency is not None:
        bounds.append(("concurrency", limit.concurrency, 0.0))
    if limit.budget is not None:
        bounds.append(("budget", limit.budget.usd, limit.budget.period))
    return [
        Term(
            limit=name,
            kind=kind,
            per=limit.per.lower(),
            capacity=capacity,
            period_s=period_s,
            key=match.key if match is not None else None,
            team=match.team if match is not None else None,
            model=match.model if match is not None else None,
            early=limit.count_hits == "all" or (limit.count_hits == "requests" and kind == "requests"),
            charges_hits=limit.count_hits == "all",
            label=f'"{plain(name)}-{kind}"',
            policy=f'"{plain(name)}-{kind}";q={capacity:.0f};w={period_s:.0f}',
        )
        for kind, capacity, period_s in bounds
    ]


def caller_name(x: Exchange) -> str:
    """Return the public name of whoever asks: a virtual key's id, else a digest of the client's own credential."""
    return f"key:{x.key_id}" if x.key_id is not None else f"credential:{x.credential}"


def subject(per: str, x: Exchange) -> str:
    """Return whose counter a call is charged to. Names that a client chooses are hashed: their length is theirs."""
    if per == "key":
        return caller_name(x)
    if per == "team":
        return f"team:{x.team}" if x.team is not None else caller_name(x)
    if per == "ip":
        return f"ip:{subject_of(x.address)}"
    name = b"x-edgeinf-session" if per == "session" else per.removeprefix("header:").encode()
    value = x.headers.get(name)
    if value is None:
        return f"{caller_name(x)} without {per}"
    return f"{caller_name(x)} {per}:{hashlib.blake2b(value, digest_size=16).hexdigest()}"
