"""Which account issued what: a bounded memory by digest, so that what belongs to one is never sent to another."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable

__all__ = ["Accounts"]

_MAX_KNOWN = 50_000


class Accounts:
    """Digest of a name -> the region and account that issued it; the longest unused go first."""

    def __init__(self, max_known: int = _MAX_KNOWN) -> None:
        self._known: OrderedDict[bytes, tuple[str, str]] = OrderedDict()
        self._max_known = max_known

    def __len__(self) -> int:
        return len(self._known)

    def remember(self, names: Iterable[str], region: str, account: str) -> None:
        """Take note of who issued names."""
        for name in names:
            digest = _digest(name)
            self._known[digest] = (region, account)
            self._known.move_to_end(digest)
        while len(self._known) > self._max_known:
            self._known.popitem(last=False)

    def issuers(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return the (region, account) pairs that issued these names, as far as is known."""
        found: dict[tuple[str, str], None] = {}
        for name in names:
            issuer = self._known.get(_digest(name))
            if issuer is not None:
                self._known.move_to_end(_digest(name))
                found[issuer] = None
        return list(found)


def _digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=12).digest()
