"""An answer as it goes over the wire where nobody else writes it (RFC 9112)."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

__all__ = ["framed", "lines", "status_line"]

_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}


def status_line(status: int) -> bytes:
    """Return the first line."""
    return b"HTTP/1.1 %d %b\r\n" % (status, _REASONS.get(status, b""))


def lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return a line for each header."""
    return b"".join([b"%b: %b\r\n" % pair for pair in headers])


def framed(body: bytes, *, stream: bool) -> tuple[bytes, bytes, bytes]:
    """Return what comes after the other headers: with its length, or, for a stream, as one chunk and the end."""
    if stream and not body:
        return b"transfer-encoding: chunked\r\n\r\n", b"", b"0\r\n\r\n"
    if stream:
        return b"transfer-encoding: chunked\r\n\r\n%x\r\n" % len(body), body, b"\r\n0\r\n\r\n"
    return b"content-length: %d\r\n\r\n" % len(body), body, b""
