"""The virtual keys of a config, found by their hash."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from datetime import UTC, datetime, time, timedelta

import msgspec

from edgeinf.core.config.schema import VirtualKey

__all__ = ["Bearer", "Bearers", "presented"]

# Where a credential may stand. Several may be sent at once; an SDK does so when both its variables are set.
_HEADERS = (b"authorization", b"x-api-key", b"api-key")


class Bearer(msgspec.Struct, frozen=True, kw_only=True):
    """A virtual key as requests are checked against it. ``expires_at`` is in seconds since the epoch."""

    id: str
    digest: bytes
    team: str | None
    user: str | None
    models: frozenset[str] | None
    expires_at: float | None
    account: bool


class Bearers:
    """Every virtual key of a config. Only hashes are here; a key that is asked for is hashed and compared."""

    def __init__(self, keys: Sequence[VirtualKey]) -> None:
        self._known = {bearer.digest: bearer for bearer in map(_bearer, keys)}

    def __len__(self) -> int:
        return len(self._known)

    def find(self, credential: bytes) -> Bearer | None:
        """Return the key that a client presented, or None.

        The table is searched by the hash of a secret of which nobody knows a prefix, so the search's time tells
        nothing; the last comparison takes the same time wherever two hashes differ.
        """
        digest = hashlib.sha256(credential).digest()
        found = self._known.get(digest)
        return found if found is not None and hmac.compare_digest(found.digest, digest) else None

    def knows(self, headers: dict[bytes, bytes]) -> bool:
        """Return whether a request carries any key that is known, expired or not."""
        return any(self.find(credential) is not None for credential in presented(headers))


def presented(headers: dict[bytes, bytes]) -> list[bytes]:
    """Return the credentials that a request carries, without their scheme."""
    found = []
    for name in _HEADERS:
        value = headers.get(name)
        if value is None:
            continue
        scheme, _, rest = value.strip().partition(b" ")
        value = rest.strip() if rest and scheme.lower() == b"bearer" else value.strip()
        if value:
            found.append(value)
    return found


def _bearer(key: VirtualKey) -> Bearer:
    expires_at = None
    if key.expires is not None:  # the day itself is still good, in UTC
        expires_at = datetime.combine(key.expires + timedelta(days=1), time.min, UTC).timestamp()
    return Bearer(
        id=key.id,
        digest=bytes.fromhex(key.sha256),
        team=key.team,
        user=key.user,
        models=None if key.models is None else frozenset(key.models),
        expires_at=expires_at,
        account=key.account,
    )
