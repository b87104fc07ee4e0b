"""Which account issued a name, for all processes: told to those of this host, kept where the others look.

An entry of its own leads from a name to its issuer, in the tiers that outlive a process and that nodes share. Where
all regions belong to one account there is nothing to find out.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from edgeinf.core.key import Key, Scope, form_of, make_key
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.origin.accounts import name_digest
from edgeinf.serve.origin.region import Origin
from edgeinf.serve.runtime import Runtime

__all__ = ["find_issuers", "note_issued"]

_ISSUED = "issued"
# So long some origins keep what they issue; what is older is asked for in the first account.
_KEPT_S = 30 * 86400.0
# Of one answer at most so many names are told, and of one request so many looked up.
_MOST = 64


def note_issued(x: Exchange, names: Iterable[str], origin: Origin, runtime: Runtime) -> None:
    """Remember who issued names, and tell the other processes."""
    account = origin.account(x.credential)
    news = runtime.accounts.remember(names, origin.name, account)[:_MOST]
    if not news or not _differ(x, runtime):
        return
    runtime.peers.issued(news, origin.name, account)
    if not runtime.tiers.far:
        return
    body = msgspec.json.encode([origin.name, account])
    for digest in news:
        key = _key(digest, runtime.seed)
        entry = Entry(
            trust=key.trust,
            stored_at=runtime.clock.now(),
            ttl_s=_KEPT_S,
            stream=False,
            content_type="application/json",
            dialect=_ISSUED,
            path="",
            body=body,
        )
        runtime.tiers.put(key, entry, near=False)


async def find_issuers(x: Exchange, names: Iterable[str], runtime: Runtime) -> list[tuple[str, str]]:
    """Return the (region, account) pairs that issued names: those known here, else the first known elsewhere."""
    names = list(names)
    known = runtime.accounts.issuers(names)
    if known or not names or not runtime.tiers.far or not _differ(x, runtime):
        return known
    for digest in map(name_digest, names[:_MOST]):
        found = await runtime.tiers.get(_key(digest, runtime.seed))
        if found is None or found.entry.dialect != _ISSUED:
            continue
        try:
            region, account = msgspec.json.decode(found.entry.body, type=tuple[str, str])
        except msgspec.DecodeError:
            continue
        runtime.accounts.note([digest], region, account)
        return [(region, account)]
    return []


def _differ(x: Exchange, runtime: Runtime) -> bool:
    return len({origin.account(x.credential) for origin in runtime.generation.origins}) > 1


def _key(digest: bytes, seed: int) -> Key:
    return make_key(form_of(b'["issued"]\n', digest), Scope("shared"), seed)
