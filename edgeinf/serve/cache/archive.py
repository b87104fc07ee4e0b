"""Carry a cache's entries in a file: one JSON line per entry, its bytes in base64, plain or compressed by the caller.

The first line says which find keys these are: an archive fits a cache with the same seed, since keys are seeded per
installation (or per fleet, by ``events.key_secret``). Every entry is verified on the way in.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from typing import IO

import msgspec

from edgeinf.core.errors import UsageError
from edgeinf.serve.cache import entry as entries

__all__ = ["VERSION", "read_archive", "seed_name", "write_archive"]

VERSION = 1
_FIND_BYTES = 16


class _Head(msgspec.Struct, kw_only=True):
    edgeinf_cache: int
    seed: str


class _Line(msgspec.Struct, kw_only=True):
    find: str
    raw: str


def seed_name(seed: int) -> str:
    """Return a name for a seed that does not reveal it."""
    return hashlib.blake2b(b"edgeinf seed %d" % seed, digest_size=8).hexdigest()


def write_archive(file: IO[bytes], items: Iterable[tuple[bytes, bytes]], seed: int) -> int:
    """Write (find key, encoded entry) pairs and return how many."""
    file.write(msgspec.json.encode(_Head(edgeinf_cache=VERSION, seed=seed_name(seed))) + b"\n")
    count = 0
    for find, raw in items:
        line = _Line(find=find.hex(), raw=base64.b64encode(raw).decode())
        file.write(msgspec.json.encode(line) + b"\n")
        count += 1
    return count


def read_archive(lines: Iterable[bytes], seed: int, now: float) -> Iterator[tuple[bytes, bytes, float] | None]:
    """Yield (find key, encoded entry, seconds left); None for a line that is damaged or whose life has ended.

    Raise UsageError where it is no archive, or one of other keys.
    """
    source = iter(lines)
    try:
        head = msgspec.json.decode(next(source, b""), type=_Head)
    except msgspec.DecodeError:
        raise UsageError("this is no archive of edgeinf's cache", hint="edgeinf cache export writes one") from None
    if head.edgeinf_cache != VERSION:
        raise UsageError(f"the archive has version {head.edgeinf_cache}, understood is {VERSION}")
    if head.seed != seed_name(seed):
        hint = "set the same events.key_secret on both"
        raise UsageError("the archive's keys are those of another installation", hint=hint)
    for text in source:
        yield _entry(text, now)


def _entry(text: bytes, now: float) -> tuple[bytes, bytes, float] | None:
    try:
        line = msgspec.json.decode(text, type=_Line)
        find, raw = bytes.fromhex(line.find), base64.b64decode(line.raw, validate=True)
    except (msgspec.DecodeError, ValueError):
        return None
    entry = entries.decode(raw)
    if entry is None or len(find) != _FIND_BYTES or not entry.fresh_at(now):
        return None
    return find, raw, entry.stored_at + entry.ttl_s - now
