"""The request as an origin gets it: which headers travel, and whose credential."""

from __future__ import annotations

from collections.abc import AsyncIterable

from edgeinf.core.wire.headers import CREDENTIALS, HOP_BY_HOP, Headers
from edgeinf.serve.origin.client import Request
from edgeinf.serve.origin.region import Origin

__all__ = ["client_account", "dialect_headers", "opaque_headers", "outgoing"]

# Client headers that travel to every origin: the first group is keyed, the second changes nothing in the answer.
_FORWARDED = (
    b"openai-beta",
    b"anthropic-beta",
    b"anthropic-version",
    b"user-agent",
    b"idempotency-key",
    b"traceparent",
    b"tracestate",
)
# With the client's own credential travels what belongs to it.
_ACCOUNT = (b"authorization", b"x-api-key", b"api-key", b"openai-organization", b"openai-project")

_NEVER = CREDENTIALS | HOP_BY_HOP | {b"host", b"content-length", b"accept-encoding", b"expect"}


def dialect_headers(
    origin: Origin, family: str, headers: dict[bytes, bytes], forward: tuple[bytes, ...] = ()
) -> Headers:
    """Return headers for a call that was understood: an allow-list, the region's own, one credential."""
    out: Headers = [(b"content-type", b"application/json"), (b"accept-encoding", b"identity")]
    if b"accept" not in forward:  # an origin may go by it, and only what is forwarded by name is in the key
        out.append((b"accept", b"*/*"))
    out += [(name, headers[name]) for name in (*_FORWARDED, *forward) if name in headers]
    if family == "anthropic" and b"anthropic-version" not in headers:
        out.append((b"anthropic-version", b"2023-06-01"))
    return _with_account(out, origin, family, headers)


def client_account(origin: Origin, headers: dict[bytes, bytes]) -> Headers:
    """Return the client's own credential where it may go to this origin."""
    if origin.credential is not None or not origin.passthrough:
        return []
    return [(name, headers[name]) for name in _ACCOUNT if name in headers]


def opaque_headers(origin: Origin, family: str, headers: dict[bytes, bytes]) -> Headers:
    """Return headers for a path that is relayed as it is: all end-to-end ones but credentials and our own."""
    listed = {token.strip().lower() for token in headers.get(b"connection", b"").split(b",")}
    out = [
        (name, value)
        for name, value in headers.items()
        if name not in _NEVER
        and name not in _ACCOUNT
        and name not in listed
        and not name.startswith((b"x-edgeinf-", b"x-forwarded-", b"sec-fetch-"))
        and name not in (b"origin", b"referer")
    ]
    return _with_account(out, origin, family, headers)


def _with_account(out: Headers, origin: Origin, family: str, headers: dict[bytes, bytes]) -> Headers:
    if origin.headers:
        own = {name for name, _ in origin.headers}
        out = [pair for pair in out if pair[0] not in own] + list(origin.headers)
    if origin.credential is not None:
        key = origin.credential.encode("latin-1", "replace")
        out.append((b"x-api-key", key) if family == "anthropic" else (b"authorization", b"Bearer " + key))
    return out + client_account(origin, headers)


def outgoing(
    origin: Origin, method: str, path: str, query: str, headers: Headers, body: bytes | AsyncIterable[bytes]
) -> Request:
    """Return the request to send to ``origin``."""
    return Request(
        method=method,
        url=origin.url(path, query),
        headers=headers,
        body=body,
        connect_timeout_s=origin.timeouts.connect,
        http2=origin.http2,
    )
