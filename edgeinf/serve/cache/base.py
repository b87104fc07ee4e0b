"""What a tier is, as the rest of the proxy sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

__all__ = ["Tier", "TierFailed", "TierStats"]


class TierFailed(Exception):
    """A tier cannot be used; the message says why, without secrets."""


class TierStats(msgspec.Struct, frozen=True, kw_only=True):
    """What a tier holds. Sizes in bytes; ``max_size`` None is unbounded."""

    name: str
    entries: int
    size_bytes: int
    max_size_bytes: int | None
    evicted: int = 0


class Tier(Protocol):
    """Keeps encoded entries by their find key. Every method may raise TierFailed.

    ``get`` returns what was put, or None; a tier does not judge freshness, only :mod:`edgeinf.serve.cache.tiers`
    does. What is put may be gone at any time.
    """

    name: str

    async def get(self, find: bytes) -> bytes | None:
        """Return the encoded entry, or None."""
        ...

    async def put(self, items: Sequence[tuple[bytes, bytes, float]]) -> None:
        """Keep encoded entries: (find key, bytes, seconds to keep them, about)."""
        ...

    async def delete(self, find: bytes) -> None:
        """Forget an entry; absent is fine."""
        ...

    async def clear(self) -> int:
        """Forget everything and return how many entries that was."""
        ...

    async def scan(self) -> list[bytes]:
        """Return the find keys of all entries."""
        ...

    async def stats(self) -> TierStats:
        """Return what the tier holds."""
        ...

    async def aclose(self) -> None:
        """Write what is pending and let go of the tier."""
        ...
