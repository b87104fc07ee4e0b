"""Who is asking, and with whom may answers be shared?"""

from __future__ import annotations

import hashlib

from edgeinf.core.key import Scope
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.generation import Generation

__all__ = ["authenticate", "credential_digest"]

# What a client's own credential consists of: with a key, an organisation or project decides who pays and may ask.
_PARTS = (b"authorization", b"x-api-key", b"api-key", b"openai-organization", b"openai-project")


def credential_digest(headers: dict[bytes, bytes]) -> str:
    """Return a digest of the client's own credential; empty if it sent none."""
    parts = [(name, headers[name]) for name in _PARTS if name in headers]
    if not parts:
        return ""
    digest = hashlib.blake2b(digest_size=16)
    for name, value in parts:
        digest.update(b"%b %d %b\n" % (name, len(value), value))
    return digest.hexdigest()


def authenticate(x: Exchange, generation: Generation) -> None:
    """Set who asks. Without virtual keys the client's own credential is the scope: the origin judges it."""
    x.credential = credential_digest(x.headers)
    x.scope = Scope("key", x.credential)
