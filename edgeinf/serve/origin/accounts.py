"""Which account issued what: a bounded memory by digest, so that what belongs to one is never sent to another."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable

__all__ = ["Accounts", "name_digest"]

_MAX_KNOWN = 50_000


class Accounts:
    """Digest of a name -> the region and account that issued it; the longest unused go first."""

    def __init__(self, max_known: int = _MAX_KNOWN) -> None:
        self._known: OrderedDict[bytes, tuple[str, str]] = OrderedDict()
        self._max_known = max_known

    def __len__(self) -> int:
        return len(self._known)

    def remember(self, names: Iterable[str], region: str, account: str) -> list[bytes]:
        """Take note of who issued names; return the digests of those that this is news of."""
        return self.note(map(name_digest, names), region, account)

    def note(self, digests: Iterable[bytes], region: str, account: str) -> list[bytes]:
        """Take note of who issued the names with these digests; return those that this is news of."""
        issuer, news = (region, account), []
        for digest in digests:
            if self._known.get(digest) != issuer:
                news.append(digest)
            self._known[digest] = issuer
            self._known.move_to_end(digest)
        while len(self._known) > self._max_known:
            self._known.popitem(last=False)
        return news

    def issuers(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """Return the (region, account) pairs that issued these names, as far as is known."""
        found: dict[tuple[str, str], None] = {}
        for name in names:
            digest = name_digest(name)
            issuer = self._known.get(digest)
            if issuer is not None:
                self._known.move_to_end(digest)
                found[issuer] = None
        return list(found)


def name_digest(name: str) -> bytes:
    """Return what is kept of a name."""
    return hashlib.blake2b(name.encode("utf-8", "replace"), digest_size=12).digest()
