"""From a call to one or more keys: when two calls are the same question.

The canonical form of a call is the head (everything that matters besides the body) and the body in canonical JSON.
A key finds an entry by xxh3-128, seeded per store, and trusts it by BLAKE2b-256; both cover the same bytes and the
scope. Events carry a keyed BLAKE2b-128 of the same bytes without the scope. Both BLAKE2b cover the body by its digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import msgspec
import xxhash

from edgeinf.core.call import Call
from edgeinf.core.dialects.base import Dialect
from edgeinf.core.normalize.levels import Level
from edgeinf.core.wire.canonical import canonical

__all__ = [
    "FORMAT",
    "Form",
    "Key",
    "KeyExtras",
    "Scope",
    "canonical_forms",
    "digest_of",
    "event_key",
    "form_of",
    "hash_id",
    "key_space",
    "keys",
    "make_key",
]

# Raise when the canonical form itself changes; every key then changes with it.
FORMAT = 1


class Scope(msgspec.Struct, frozen=True):
    """Who may share an answer: ``kind`` is key, user, team or shared; ``id`` names one of them."""

    kind: str
    id: str = ""

    def encoded(self) -> bytes:
        """Return bytes that no other scope has."""
        return msgspec.json.encode([self.kind, self.id])


class KeyExtras(msgspec.Struct, frozen=True, kw_only=True):
    """What enters the key besides dialect, path, query, model and body."""

    origin: str = ""  # digest of the origin group
    namespace: str = ""
    sample: str = ""
    headers: tuple[tuple[str, str], ...] = ()  # forwarded headers that may change the answer, sorted


class Form(msgspec.Struct, frozen=True):
    """The canonical bytes of one part of a call, without scope. Made by :func:`form_of`."""

    head: bytes
    body: bytes
    digest: bytes  # BLAKE2b-256 of the body, the same on every node


class Key(msgspec.Struct, frozen=True):
    """``find`` (16 bytes) locates an entry, ``trust`` (32 bytes) proves it."""

    find: bytes
    trust: bytes


NO_EXTRAS = KeyExtras()


def canonical_forms(call: Call, dialect: Dialect, level: Level, extras: KeyExtras = NO_EXTRAS) -> list[Form]:
    """Return the canonical bytes of each part of a call that has a key of its own, without scope.

    Raise CallError 400 where the body is not text that has a form (a lone surrogate).
    """
    head = _head(call.dialect, call.path, call.query, call.model, level.tag, level.version, extras)
    return [
        form_of(head, canonical(body, keep_properties_order=level.keep_properties_order))
        for body in dialect.keyed(call, level)
    ]


@lru_cache(maxsize=1024)
def _head(dialect: str, path: str, query: str, model: str, level: str, version: int, extras: KeyExtras) -> bytes:
    parts = [FORMAT, dialect, path, query, model, level, version, extras.origin, extras.namespace, extras.sample]
    return msgspec.json.encode([*parts, extras.headers]) + b"\n"


def form_of(head: bytes, body: bytes) -> Form:
    """Return a form. Its body, which may be long, is digested once for all that is derived from it."""
    return Form(head, body, hashlib.blake2b(body, digest_size=32).digest())


def make_key(form: Form, scope: Scope, seed: int = 0) -> Key:
    """Return the key of one canonical form within a scope, for a store with this seed."""
    encoded = scope.encoded()
    find = xxhash.xxh3_128_digest(b"%b%b\n%b" % (form.head, form.body, encoded), seed=seed)
    trust = hashlib.blake2b(b"%b%b\n%b" % (form.head, form.digest, encoded), digest_size=32).digest()
    return Key(find, trust)


def keys(
    call: Call, dialect: Dialect, level: Level, scope: Scope, *, extras: KeyExtras = NO_EXTRAS, seed: int = 0
) -> list[Key]:
    """Return the keys of a call, in the order of its parts."""
    return [make_key(form, scope, seed) for form in canonical_forms(call, dialect, level, extras)]


def event_key(form: Form, secret: bytes) -> str:
    """Return the name under which events mention a canonical form: it cannot be guessed without the secret."""
    return hashlib.blake2b(form.head + form.digest, digest_size=16, key=secret[:64]).hexdigest()


def key_space(secret: bytes) -> str:
    """Return a name for the secret that does not reveal it; logs with one name can be compared."""
    return hashlib.blake2b(b"edgeinf key space", digest_size=6, key=secret[:64]).hexdigest()


def hash_id(value: str, secret: bytes) -> str:
    """Return a stable name for an id (a scope, a credential) that does not reveal it."""
    return hashlib.blake2b(value.encode(), digest_size=8, key=secret[:64]).hexdigest()


def digest_of(values: Sequence[object]) -> str:
    """Return a short digest of plain values, for groups of origins and generations of config."""
    return hashlib.blake2b(msgspec.json.encode(values, order="sorted"), digest_size=12).hexdigest()
