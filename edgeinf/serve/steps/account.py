"""What a virtual key may reach beyond the dialects: what only computes, and with ``account`` what the origin holds.

An allow-list: a path that nobody here has looked at may read or delete what belongs to another tenant.
"""

from __future__ import annotations

from edgeinf.core.errors import CallError
from edgeinf.serve.exchange import Exchange

__all__ = ["holds_account", "permit_path"]

# Paths whose POST computes an answer from its body alone.
_COMPUTES = frozenset(
    {
        "/v1/audio/speech",
        "/v1/audio/transcriptions",
        "/v1/audio/translations",
        "/v1/images/edits",
        "/v1/images/generations",
        "/v1/images/variations",
        "/v1/messages/count_tokens",
        "/v1/moderations",
        "/v1/responses/input_tokens",
        "/v1/classify",
        "/v1/detokenize",
        "/v1/pooling",
        "/v1/score",
        "/v1/tokenize",
    }
)


def holds_account(method: str, path: str) -> bool:
    """Return whether a request may touch what the origin's account holds."""
    if method in ("GET", "HEAD"):
        return path != "/v1/models" and not path.startswith("/v1/models/")
    return not (method == "POST" and path in _COMPUTES)


def permit_path(x: Exchange) -> None:
    """Raise CallError 403 where the key may not reach a path; 400 where the path is not what it seems."""
    bearer = x.virtual_key
    if bearer is None:
        return
    if any(part in (".", "..") for part in x.path.replace("\\", "/").split("/")):
        raise CallError("the path holds '.' or '..'", code="invalid_path")
    if not bearer.account and holds_account(x.method, x.path):
        raise CallError(
            f"the key {bearer.id!r} may not use {x.method} {x.path[:200]}: it reaches what the origin's account holds",
            status=403,
            code="account_not_allowed",
            hint="account: true on the key allows it",
        )
