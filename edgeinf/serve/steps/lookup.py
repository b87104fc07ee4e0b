"""Is there an answer already? Keys are made once per request and serve lookup, coalescing and storing alike."""

from __future__ import annotations

import msgspec

from edgeinf.core import key as keying
from edgeinf.core.cacheable import bypass_reason
from edgeinf.core.normalize.levels import LEVELS
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.cache.tiers import Found, Tiers
from edgeinf.serve.controls import tightened
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.generation import Generation
from edgeinf.serve.steps.parts import joined, narrow
from edgeinf.serve.steps.pinned import accounts_of

__all__ = ["KEYED_HEADERS", "lookup", "make_keys", "usable", "usable_until"]

# Request headers that reach the origin and may change its answer.
KEYED_HEADERS = (b"openai-beta", b"anthropic-beta", b"anthropic-version")


def make_keys(x: Exchange, generation: Generation, seed: int) -> None:
    """Set the keys of the call, or why it has none."""
    assert x.call is not None
    assert x.dialect is not None
    x.level = tightened(generation.level.name, x.controls.level) if x.dialect.name != "opaque" else "exact"
    level = generation.level if x.level == generation.level.name else LEVELS[x.level]
    x.bypass = _bypass(x, generation)
    names = (*KEYED_HEADERS, *generation.forward_headers)
    group = generation.group(x.dialect.family, x.call.model)
    if x.dialect.pinned(x.call):
        group += accounts_of(x, generation)
    extras = keying.KeyExtras(
        origin=group,
        namespace=x.controls.namespace,
        sample=x.controls.sample,
        headers=tuple((name.decode(), x.headers[name].decode("latin-1")) for name in names if name in x.headers),
    )
    x.forms = keying.canonical_forms(x.call, x.dialect, level, extras)
    x.keys = [keying.make_key(form, x.scope, seed) for form in x.forms]


def _bypass(x: Exchange, generation: Generation) -> str | None:
    """Return why the call may be neither looked up nor stored, whatever its model is called by client and regions."""
    assert x.call is not None
    assert x.dialect is not None
    reason = bypass_reason(x.call, x.dialect, generation.policy)
    for name in generation.other_names(x.dialect.family, x.call.model):
        if reason is None:
            reason = bypass_reason(msgspec.structs.replace(x.call, model=name), x.dialect, generation.policy)
    return reason


def usable(x: Exchange, entry: Entry, now: float) -> bool:
    """Return whether an entry's age is what this request accepts."""
    limit = x.controls.max_age_s
    if limit is not None and now - entry.stored_at > limit:
        return False
    asked_ttl = x.controls.ttl_s
    return entry.fresh_at(now) and (asked_ttl is None or now - entry.stored_at < asked_ttl)


def usable_until(x: Exchange, entry: Entry) -> float:
    """Return the time before which :func:`usable` holds, in seconds since the epoch."""
    lives_s = (entry.ttl_s, x.controls.max_age_s, x.controls.ttl_s)
    return entry.stored_at + min(life_s for life_s in lives_s if life_s is not None)


async def lookup(x: Exchange, tiers: Tiers, now: float) -> list[Found] | None:
    """Return the entry that answers the call, or None; a stale one is remembered on the side.

    A call with many Keys is answered by all of their entries as one, or left with what is missing of it.
    """
    if x.bypass is not None or not x.keys:
        return None
    found: list[Found | None] = [None] * len(x.keys)
    if not x.controls.no_cache:
        for number, key in enumerate(x.keys):
            hit = await tiers.get(key)
            if hit is not None and usable(x, hit.entry, now):
                found[number] = hit
            elif hit is not None and len(x.keys) == 1:
                x.stale = hit.entry
    there = [hit for hit in found if hit is not None]
    x.hits = len(there)
    if len(there) < len(found):
        narrow(x, found)
        return None
    return there if len(there) == 1 else [joined(x, there)]
