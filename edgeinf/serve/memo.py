"""From a raw request to what was understood of it, so that a byte-identical repeat skips parsing and keys.

The name of an entry is the BLAKE2b-256 of everything that reading and keying look at, the generation of the config
included. Auth, limits and the guard's verdict are not in it: they hold per request. Most requests never come again, so
one is remembered when its bytes come a second time; before that it has no name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Sequence

import msgspec
import xxhash

from edgeinf.core.call import Call
from edgeinf.core.errors import CallError
from edgeinf.core.eviction import LruTtl
from edgeinf.core.key import Form, Key, Scope
from edgeinf.serve.controls import Controls
from edgeinf.serve.exchange import Exchange

__all__ = ["Memo", "Remembered"]

_MAX_BYTES = 32 * 2**20
_MAX_RAW = 256 * 1024
# So many bodies are known to have come once; then the older half of them is forgotten.
_ONCE = 20_000


class Remembered(msgspec.Struct, frozen=True):
    """What a raw request turned out to be."""

    call: Call
    controls: Controls
    level: str
    forms: list[Form]
    keys: list[Key]
    bypass: str | None
    scope: Scope
    rewritten: bool = False
    prompt: str | None = None
    added: int = 0
    guard: tuple[str, ...] = ()
    refused: CallError | None = None  # the guard let nothing of it pass
    names: tuple[str, ...] = ()  # the forms' names in events
    variant: bytes = b""  # what the asker's rendering depends on


class Memo:
    """Bounded by bytes; the least recently used go first."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._known: LruTtl[bytes, Remembered] = LruTtl(max_size=max_bytes)
        self._generation: Hashable = None
        self._came: set[int] = set()  # bodies that came, by their xxh3-64
        self._came_before: set[int] = set()

    def name(
        self, x: Exchange, generation: Hashable, keyed_headers: tuple[bytes, ...], more: Sequence[str] = ()
    ) -> bytes | None:
        """Return the name under which this request is remembered; None if it is new, or too large to be."""
        if not self._seen(x.raw):
            return None
        if generation != self._generation:
            self._known.clear()
            self._generation = generation
        headers = x.headers
        digest = hashlib.blake2b(digest_size=32)
        parts = [x.path, x.query, x.scope.kind, x.scope.id, repr(generation)]
        parts += [f"{n!r}={headers[n]!r}" for n in keyed_headers if n in headers]
        if more:
            parts.append(repr(more))
        digest.update(repr(parts).encode())
        digest.update(x.raw)
        return digest.digest()

    def _seen(self, raw: bytes) -> bool:
        """Return whether a body came before, and take note of it."""
        if len(raw) > _MAX_RAW:
            return False
        sight = xxhash.xxh3_64_intdigest(raw)
        if sight in self._came:
            return True
        if len(self._came) >= _ONCE // 2:
            self._came_before, self._came = self._came, set()
        self._came.add(sight)
        return sight in self._came_before

    def get(self, name: bytes) -> Remembered | None:
        """Return what is known under a name."""
        return self._known.get(name, 0.0)

    def put(self, name: bytes, raw_size: int, remembered: Remembered) -> None:
        """Remember a request. It weighs its body about five times: parsed, in canonical form, and the objects."""
        self._known.put(name, remembered, now=0.0, ttl_s=1.0, size=5 * raw_size + 2000)
