"""Answers that the origin keeps under an id: shared within one account, found again by that id.

A hit hands out the first answer's id, and what a client does with it must reach the account that has it. When that
account is told to delete it, the entry goes as well: a small entry of its own leads from the id to it.
"""

from __future__ import annotations

import msgspec

from edgeinf.core.dialects.origin_state import issued
from edgeinf.core.key import Key, Scope, digest_of, form_of, make_key
from edgeinf.core.wire import sse
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.fleet.purge import Purge, apply_purge
from edgeinf.serve.generation import Generation
from edgeinf.serve.origin.region import Origin
from edgeinf.serve.runtime import Runtime

__all__ = ["accounts_of", "forget", "note_hit", "remember"]

_POINTS = "answer-id"
_LIMIT = 50_000


def accounts_of(x: Exchange, generation: Generation) -> str:
    """Return a digest of the accounts that may hold the call's answer; another account is another question."""
    assert x.call is not None
    assert x.dialect is not None
    stages = generation.stages(x.dialect.family, x.call.model)
    return digest_of([target.origin.account(x.credential) for stage in stages[:1] for target in stage])


def remember(x: Exchange, origin: Origin, entry: Entry, runtime: Runtime) -> None:
    """Take note of the id under which the origin keeps a stored answer."""
    assert x.call is not None
    assert x.dialect is not None
    if not x.dialect.pinned(x.call):
        return
    try:
        whole = x.dialect.fold(sse.decode_all(entry.body)) if entry.stream else entry.body
    except ValueError:
        return
    name = x.dialect.answer_id(whole)
    if name is None:
        return
    key = _pointer(name, origin.account(x.credential), runtime.seed)
    if len(runtime.pinned) >= _LIMIT:
        runtime.pinned.clear()
    runtime.pinned[key.find] = x.keys[0].find
    if runtime.tiers.far:
        leads = msgspec.structs.replace(
            entry, trust=key.trust, dialect=_POINTS, stream=False, headers=[], pace_ms=None, body=x.keys[0].find
        )
        runtime.tiers.put(key, leads, near=False)


async def forget(name: str, account: str, runtime: Runtime) -> None:
    """Let go of the entry whose answer the account no longer has."""
    key = _pointer(name, account, runtime.seed)
    find = runtime.pinned.pop(key.find, None)
    if find is None:
        found = await runtime.tiers.get(key)
        if found is None or found.entry.dialect != _POINTS:
            return
        find = found.entry.body
    await runtime.tiers.delete(key.find)
    await apply_purge(runtime.tiers, Purge(find=find))
    await runtime.peers.purge(Purge(find=find))


def note_hit(x: Exchange, entry: Entry, runtime: Runtime) -> None:
    """Remember again whose the ids in a stored answer are: this process may not have asked for it."""
    assert x.call is not None
    assert x.dialect is not None
    if len(runtime.generation.origins) < 2 or not x.dialect.pinned(x.call):
        return
    for origin in runtime.generation.origins:
        if origin.name == entry.region:
            names = issued(entry.body, every_id=True)
            runtime.accounts.remember(names, origin.name, origin.account(x.credential))


def _pointer(name: str, account: str, seed: int) -> Key:
    return make_key(form_of(b'["answer-id"]\n', name.encode()), Scope("account", account), seed)
