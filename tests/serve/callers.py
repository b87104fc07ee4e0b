"""Virtual keys for tests: their secrets, and the config that knows their hashes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import date
from typing import Any

from edgeinf.core.config.schema import Auth, VirtualKey

__all__ = ["auth_for", "bearer", "secret"]


def secret(name: str) -> str:
    """Return the secret of the key that a test calls ``name``."""
    return f"ek-secret-of-{name}-0123456789"


def bearer(name: str) -> dict[str, str]:
    """Return the header that presents a key."""
    return {"authorization": f"Bearer {secret(name)}"}


def auth_for(*names: str, **details: Mapping[str, Any]) -> Auth:
    """Return auth that knows these keys; ``details`` are more fields of some, by name."""
    return Auth(
        keys=tuple(
            VirtualKey(id=name, sha256=hashlib.sha256(secret(name).encode()).hexdigest(), **details.get(name, {}))
            for name in (*names, *(name for name in details if name not in names))
        )
    )


LONG_AGO = date(2020, 1, 1)
