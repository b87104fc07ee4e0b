"""What a browser must hear before a page of a listed origin may call and read (Fetch standard, CORS protocol).

Keys come in headers and never as cookies, so credentials in the standard's sense are not allowed for.
"""

from __future__ import annotations

from collections.abc import Mapping

from edgeinf.core.wire.headers import Headers

__all__ = ["is_preflight", "leave_to_call", "leave_to_read"]

_METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE"
# How long a browser may go by the leave to call without asking again.
_GOOD_FOR_S = b"600"

_UPSTREAMS = frozenset(
    {b"access-control-allow-origin", b"access-control-allow-credentials", b"access-control-expose-headers"}
)


def is_preflight(method: str, headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a browser asks if a page may send the request that it wants to."""
    return method == "OPTIONS" and b"access-control-request-method" in headers


def leave_to_call(asked: Mapping[bytes, bytes]) -> Headers:
    """Return the answer's headers to a preflight: any method, and the request headers that were asked for."""
    headers = [(b"access-control-allow-methods", _METHODS), (b"access-control-max-age", _GOOD_FOR_S)]
    wanted = asked.get(b"access-control-request-headers")
    if wanted:
        headers.append((b"access-control-allow-headers", wanted))
    if asked.get(b"access-control-request-private-network") == b"true":
        headers.append((b"access-control-allow-private-network", b"true"))
    return headers


def leave_to_read(origin: bytes, headers: Headers) -> Headers:
    """Return an answer's headers with leave for a page to read it; what an upstream says of that was not meant here."""
    kept = [pair for pair in headers if pair[0] not in _UPSTREAMS]
    return [
        *kept,
        (b"access-control-allow-origin", origin),
        (b"access-control-expose-headers", b"*"),
        (b"vary", b"Origin"),
    ]
