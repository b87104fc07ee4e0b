"""Which headers travel, and which never do.

Hop-by-hop names are those of RFC 9110 section 7.6.1 and whatever ``Connection`` lists.
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["CREDENTIALS", "HOP_BY_HOP", "SSE_HEADERS", "Headers", "end_to_end", "get"]

Headers = list[tuple[bytes, bytes]]

HOP_BY_HOP = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
CREDENTIALS = frozenset(
    {b"authorization", b"x-api-key", b"api-key", b"x-goog-api-key", b"cookie", b"proxy-authorization"}
)

SSE_HEADERS: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]


def get(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """Return the first value of a lower-case header name."""
    for key, value in headers:
        if key == name:
            return value
    return None


def end_to_end(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return lower-case headers without those that belong to one connection only."""
    pairs = [(name.lower(), value) for name, value in headers]
    listed = {token.strip().lower() for name, value in pairs if name == b"connection" for token in value.split(b",")}
    return [(name, value) for name, value in pairs if name not in HOP_BY_HOP and name not in listed]
