"""Entries to store, for tests of tiers."""

from __future__ import annotations

import hashlib
from typing import Any

from edgeinf.core.key import Key
from edgeinf.serve.cache.entry import Entry

__all__ = ["entry", "key"]


def key(name: str) -> Key:
    """Return a key of its own for a name."""
    digest = hashlib.blake2b(name.encode(), digest_size=48).digest()
    return Key(digest[:16], digest[16:])


def entry(name: str = "a", *, body: bytes = b'{"ok": true}', stored_at: float = 1000.0, **more: Any) -> Entry:
    """Return an entry under the key of ``name`` that lives for a minute."""
    given = {"ttl_s": 60.0, "stream": False, "content_type": "application/json", "dialect": "openai-chat", **more}
    return Entry(trust=key(name).trust, stored_at=stored_at, path="/v1/chat/completions", body=body, **given)
