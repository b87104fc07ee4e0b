"""The shortest way: a request whose very bytes came before, from the same host, and whose answer is still the same.

Only headers that name the one request may differ. Nothing is left to find out about it: what the short way learnt is
held beside all that it rests on: the bytes, the host, the config and the prompts, the key's end, the entry. Limits,
the entry's age and the event are of the moment.
"""

from __future__ import annotations

import hashlib
import math
import time
import weakref
from collections.abc import Hashable, Sequence

import msgspec
import xxhash

from edgeinf.core.events import Event
from edgeinf.core.eviction import LruTtl
from edgeinf.core.key import Key
from edgeinf.core.wire.headers import Headers
from edgeinf.serve import http1
from edgeinf.serve.cache.memory import Resident
from edgeinf.serve.cache.tiers import Found
from edgeinf.serve.exchange import Exchange, new_id
from edgeinf.serve.limits import report
from edgeinf.serve.limits.base import Charge
from edgeinf.serve.limits.local import LocalLimiter
from edgeinf.serve.limits.terms import Term
from edgeinf.serve.replay import shown_as
from edgeinf.serve.request_names import RequestNames, trace_id
from edgeinf.serve.responses import MOVING, moving_headers
from edgeinf.serve.runtime import Runtime
from edgeinf.serve.steps.lookup import usable_until

__all__ = ["Repeats"]

_find = xxhash.xxh3_64_intdigest

_LARGEST = 64 * 1024
_MOST = 4096
# What was learnt is found out anew after this long: a price, say, may have been unknown.
_ANEW_S = 5.0


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was answered from memory, and what that rests on."""

    trust: bytes  # BLAKE2b-256 of its bytes, but for what names it, and its host
    basis: Hashable  # the config and the prompts
    until: float  # seconds since the epoch
    key: Key
    resident: weakref.ref[Resident]
    shown: Hashable  # which of the resident's renderings it is given
    limiter: LocalLimiter | None
    charges: tuple[Charge, ...]
    terms: tuple[Term, ...]
    steady: bytes  # the part of the head that does not change
    event: Event
    size: int  # of its body
    saved_ms: float | None


class Repeats:
    """Bounded by number; the least recently used go first."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._known: LruTtl[int, Repeat] = LruTtl(max_entries=_MOST)
        self._once: set[int] = set()
        self._names: tuple[Hashable, RequestNames] | None = None  # of which config, with which prompts
        self._parted: tuple[bytes, tuple[bytes, list[bytes]]] = b"", (b"", [])

    def answer(self, data: bytes, client: str) -> bytes | None:
        """Return the whole HTTP/1.1 answer to a request's bytes; None, with nothing charged, where it is not known."""
        started = time.perf_counter()
        known = self._known.get(_find(data), 0.0)
        lines: list[bytes] = []
        if known is None and self._known:
            data, lines = self._part(data)
            known = self._known.get(_find(data), 0.0) if lines else None
        if known is None:
            return None
        runtime = self._runtime
        now = runtime.clock.now()
        if now >= known.until or known.basis != _basis(runtime) or known.trust != _trust(data, client):
            return None
        found = runtime.tiers.near(known.key, now)
        resident = known.resident()
        if found is None or resident is None or found.resident is not resident or runtime.draining:
            return None
        body = resident.shown.get(known.shown)
        if body is None:
            return None
        told: Headers = []
        if known.limiter is not None:
            if known.limiter is not runtime.limiter:
                return None  # limits are counted elsewhere by now
            taken = known.limiter.take_now(known.charges)
            if taken.refused is not None:
                return None  # nothing was taken; the whole way says no in full
            told = report.headers(zip(known.terms, taken.levels, strict=True))
        name, entry = new_id(), found.entry
        age_s = max(0.0, now - entry.stored_at)
        moving = moving_headers(name, known.key, entry.stored_at + entry.ttl_s - now, age_s, started)
        framed = http1.framed(body, stream=known.event.stream)
        answer = b"".join((known.steady, http1.lines([*moving, *told]), *framed))
        total_ms = round((time.perf_counter() - started) * 1000, 3)
        event = msgspec.structs.replace(
            known.event,
            id=name,
            at=time.time(),
            age_s=age_s,
            edgeinf_ms=total_ms,
            ttft_ms=total_ms,
            total_ms=total_ms,
            trace_id=_traced(lines) or known.event.trace_id,
        )
        runtime.events.put(event)
        runtime.observer.note(event, None, known.size, known.saved_ms)
        return answer

    def learn(
        self,
        data: bytes,
        client: str,
        x: Exchange,
        found: Found,
        head: Headers,
        charges: Sequence[tuple[Charge, Term]],
        event: Event,
    ) -> None:
        """Take note of a request that the short way has just answered, if its bytes are coming a second time."""
        runtime, resident = self._runtime, found.resident
        if len(data) > _LARGEST or resident is None or x.dialect is None or x.call is None:
            return
        if runtime.tracer is not None or x.dialect.pinned(x.call):
            return  # each such hit leaves a note of its own
        data, lines = self._part(data)
        find = _find(data)
        if find not in self._once:
            if len(self._once) >= _MOST:
                self._once.clear()
            self._once.add(find)
            return
        limiter = runtime.limiter
        untold = MOVING | {name for name, _ in report.headers(x.told)}
        known = Repeat(
            trust=_trust(data, client),
            basis=_basis(runtime),
            until=min(_ends(x), usable_until(x, found.entry), runtime.clock.now() + _ANEW_S),
            key=x.keys[0],
            resident=weakref.ref(resident),
            shown=shown_as(x, runtime),
            limiter=limiter if charges and isinstance(limiter, LocalLimiter) else None,
            charges=tuple(charge for charge, _ in charges),
            terms=tuple(term for _, term in charges),
            steady=http1.status_line(200) + http1.lines(pair for pair in head if pair[0] not in untold),
            event=msgspec.structs.replace(event, trace_id=None) if _traced(lines) else event,
            size=len(x.raw),
            saved_ms=x.saved_ms,
        )
        self._known.put(find, known, now=0.0, ttl_s=1.0)

    def _part(self, data: bytes) -> tuple[bytes, list[bytes]]:
        if data is self._parted[0]:  # it was looked for a moment ago, and is learnt now
            return self._parted[1]
        generation = self._runtime.generation
        read: frozenset[str] = frozenset() if generation.assembler is None else generation.assembler.headers
        if self._names is None or self._names[0] != (generation.number, read):
            self._names = (generation.number, read), RequestNames(generation.config, read)
        self._parted = data, self._names[1].part(data)
        return self._parted[1]


def _traced(lines: Sequence[bytes]) -> str | None:
    for line in lines:
        name, _, value = line.strip().partition(b":")
        if name.lower() == b"traceparent":
            return trace_id(value.strip().decode("ascii"))
    return None


def _trust(data: bytes, client: str) -> bytes:
    digest = hashlib.blake2b(data, digest_size=32)
    digest.update(client.encode())
    return digest.digest()


def _basis(runtime: Runtime) -> Hashable:
    """Return what every answer rests on beside its request: the config and the prompts."""
    generation = runtime.generation
    return generation.number if generation.assembler is None else (generation.number, generation.assembler.refresh())


def _ends(x: Exchange) -> float:
    """Return when the asker's key ends."""
    expires_at = None if x.virtual_key is None else x.virtual_key.expires_at
    return math.inf if expires_at is None else expires_at
