"""Forget answers: which ones, and how each tier finds them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from edgeinf.core.errors import CallError
from edgeinf.serve.cache import entry as entries
from edgeinf.serve.cache.base import TierFailed
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.cache.tiers import Tiers

__all__ = ["Purge", "Reach", "apply_purge", "read_purge"]

_FIND_BYTES = 16


class Purge(msgspec.Struct, frozen=True, kw_only=True):
    """Which answers to forget: all, one by its find key, or those of a namespace, a model, or both."""

    find: bytes | None = None
    namespace: str | None = None
    model: str | None = None

    @property
    def everything(self) -> bool:
        """Whether nothing narrows it."""
        return self.find is None and self.namespace is None and self.model is None

    def matches(self, entry: Entry) -> bool:
        """Return whether an entry is meant; a model is meant by the name asked for and by the one that answered."""
        if self.namespace is not None and entry.namespace != self.namespace:
            return False
        return self.model is None or self.model in (entry.asked, entry.model)


def read_purge(body: bytes) -> Purge:
    """Read ``{"all": true}``, ``{"key": "hex"}``, ``{"namespace": …, "model": …}``. Raise CallError 400."""
    try:
        asked: Any = msgspec.json.decode(body)
    except msgspec.DecodeError:
        asked = None
    if not isinstance(asked, dict) or not asked:
        raise _bad("the body is not an object that says what to forget")
    unknown = sorted(set(asked) - {"all", "key", "namespace", "model"})
    if unknown:
        raise _bad(f"{unknown[0]!r} is not understood")
    if "all" in asked:
        if asked["all"] is not True or len(asked) > 1:
            raise _bad("all stands alone and is true")
        return Purge()
    for name, value in asked.items():
        if not isinstance(value, str):
            raise _bad(f"{name} is not text")
    if "key" not in asked:
        return Purge(namespace=asked.get("namespace"), model=asked.get("model"))
    try:
        find = bytes.fromhex(asked["key"])
    except ValueError:
        find = b""
    if len(find) != _FIND_BYTES or len(asked) > 1:
        raise _bad("key stands alone and is the 32 hexadecimal digits that Cache-Status shows")
    return Purge(find=find)


def _bad(what: str) -> CallError:
    hint = 'send {"all": true}, {"key": "…"}, or {"namespace": "…"} and {"model": "…"}'
    return CallError(what, code="invalid_purge", hint=hint)


Reach = Literal["process", "node", "all"]


async def apply_purge(tiers: Tiers, purge: Purge, *, reach: Reach = "all") -> int:
    """Forget what is meant and return how many entries that were; one that several tiers hold counts once.

    ``process`` is what no other process sees, ``node`` all but what other nodes see.
    """
    await tiers.flush()  # what is on its way to a tier would come back
    if purge.everything and reach == "all":
        return await tiers.clear()
    far = [] if reach == "process" else [tier for tier in tiers.far if reach == "all" or tier.name != "shared"]
    gone: set[bytes] = set()
    memory = tiers.memory
    if memory is not None:
        for find in memory.scan() if purge.find is None else [purge.find]:
            held = memory.peek(find)
            if held is not None and (purge.find is not None or purge.matches(held)):
                memory.delete(find)
                gone.add(find)
    for tier in far:
        try:
            for find in await tier.scan() if purge.find is None else [purge.find]:
                raw = await tier.get(find)
                entry = None if raw is None else entries.decode(raw)
                if entry is not None and (purge.find is not None or purge.matches(entry)):
                    await tier.delete(find)
                    gone.add(find)
        except TierFailed as error:
            tiers.note_failure(tier, error)
    return len(gone)
