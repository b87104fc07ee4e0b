"""Calls whose parts have Keys of their own: only what is missing is asked for, and each part is kept for itself.

The dialect splits and joins; here is who needs what. Where an origin's answer to a part of a call cannot be taken
apart, the whole call is asked, and passed on as it comes.
"""

from __future__ import annotations

import hashlib

import msgspec

from edgeinf.core.call import Call, Usage
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.cache.tiers import Found
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.steps.relay import Recording

__all__ = ["GATHER_LIMIT", "Parts", "covered", "flight_name", "join", "joined", "narrow", "separate", "widen"]

# An answer to some of the parts is held until it can be joined with the others; this much of it at most.
GATHER_LIMIT = 64 * 2**20


class Parts(msgspec.Struct, kw_only=True):
    """A call with more than one Key on its way: what was found per Key, and the Keys that the origin is asked for."""

    whole: Call
    found: list[Found | None]
    wanted: list[int]

    @property
    def partial(self) -> bool:
        """Whether the origin is asked for less than the client asks."""
        return len(self.wanted) < len(self.found)


def narrow(x: Exchange, found: list[Found | None]) -> None:
    """Let the call be only what is missing, each question once; nothing changes for a call with one Key."""
    assert x.call is not None
    assert x.dialect is not None
    if len(x.keys) < 2:
        return
    wanted = list({key: number for number, key in reversed(list(enumerate(x.keys))) if found[number] is None}.values())
    x.parts = Parts(whole=x.call, found=found, wanted=sorted(wanted))
    if x.parts.partial:
        body = x.dialect.split_call(x.call, x.parts.wanted)
        x.call = x.dialect.read(x.call.path, x.call.query, body)
        x.rewritten = True


def widen(x: Exchange) -> None:
    """Ask for the whole call after all."""
    if x.parts is not None and x.parts.partial:
        x.call = x.parts.whole
        x.parts = Parts(whole=x.call, found=[None] * len(x.keys), wanted=list(range(len(x.keys))))
        x.hits = 0


def flight_name(x: Exchange) -> bytes:
    """Return what names the question that goes to the origin: its Key, or a digest of several."""
    if len(x.keys) == 1:
        return x.keys[0].find + x.keys[0].trust
    if x.parts is None:
        return b""
    digest = hashlib.blake2b(digest_size=32)
    for number in x.parts.wanted:
        digest.update(x.keys[number].trust)
    return b"%d parts " % len(x.parts.wanted) + digest.digest()


def covered(x: Exchange) -> list[int]:
    """Return the numbers of the Keys that the origin is asked for."""
    return [0] if x.parts is None else x.parts.wanted


def separate(x: Exchange, recording: Recording) -> list[bytes]:
    """Return what is to be kept per covered Key. Raise ValueError where the answer cannot be taken apart."""
    assert x.call is not None
    assert x.dialect is not None
    return [recording.body] if x.parts is None else x.dialect.split_answer(x.call, recording.body)


def join(x: Exchange, body: bytes) -> bytes | None:
    """Return the whole answer from what came and what was there; None where what came cannot be taken apart."""
    assert x.call is not None
    assert x.dialect is not None
    if x.parts is None or not x.parts.partial:
        return x.dialect.render_whole(x.call, body)
    if x.dialect.judge(x.call, body).unfit is not None:
        return None
    try:
        came = x.dialect.split_answer(x.call, body)
        by_key = dict(zip((x.keys[number] for number in x.parts.wanted), came, strict=True))
        answers = [
            by_key[key] if hit is None else hit.entry.body for key, hit in zip(x.keys, x.parts.found, strict=True)
        ]
        return x.dialect.join_answers(x.parts.whole, answers)
    except (ValueError, KeyError, msgspec.DecodeError):
        return None


def joined(x: Exchange, found: list[Found]) -> Found:
    """Return the answers to all parts as one: as old as the oldest, as long-lived as the first to end."""
    assert x.call is not None
    assert x.dialect is not None
    entries = [hit.entry for hit in found]
    ends = min(entry.stored_at + entry.ttl_s for entry in entries)
    stored_at = min(entry.stored_at for entry in entries)
    whole: Entry = msgspec.structs.replace(
        entries[0],
        stored_at=stored_at,
        ttl_s=ends - stored_at,
        usage=_sum([entry.usage for entry in entries]),
        body=x.dialect.join_answers(x.call, [entry.body for entry in entries]),
    )
    return Found(whole, found[0].tier)


def _sum(usages: list[Usage]) -> Usage:
    def total(field: str) -> int | None:
        known = [value for value in (getattr(usage, field) for usage in usages) if value is not None]
        return sum(known) if known else None

    return Usage(**{field: total(field) for field in Usage.__struct_fields__})
