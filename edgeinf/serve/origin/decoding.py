"""Undo a content coding that the origin applied although identity was asked for, piece by piece and bounded."""

from __future__ import annotations

import zlib

from edgeinf.core.errors import CallError

__all__ = ["Inflater", "inflate_body", "inflater"]


class Inflater:
    """Decompresses gzip or zlib as it arrives. Raise ValueError on damage or when ``limit`` bytes are exceeded.

    Members of gzip may follow one another (RFC 1952, section 2.2).
    """

    def __init__(self, *, limit: int | None = None) -> None:
        self._state = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
        self._limit = limit
        self._out = 0

    def feed(self, data: bytes) -> bytes:
        """Return what ``data`` decompresses to."""
        found: list[bytes] = []
        while data:
            if self._state.eof:
                self._state = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
            found.append(self._decompress(data))
            data = self._state.unused_data
        return b"".join(found)

    def _decompress(self, data: bytes) -> bytes:
        try:
            if self._limit is None:
                return self._state.decompress(data)
            out = self._state.decompress(data, self._limit - self._out + 1)
        except zlib.error as error:
            raise ValueError(f"not gzip: {error}") from None
        self._out += len(out)
        if self._out > self._limit:
            raise ValueError(f"more than {self._limit} bytes when decompressed")
        return out

    @property
    def whole(self) -> bool:
        """Return whether the end of the compressed data was seen."""
        return self._state.eof


def inflater(coding: bytes | None) -> Inflater | None:
    """Return a decoder for a ``Content-Encoding``, None for identity. Raise ValueError on one we do not know."""
    name = (coding or b"").strip().lower()
    if name in (b"", b"identity"):
        return None
    if name in (b"gzip", b"x-gzip", b"deflate"):
        return Inflater()
    raise ValueError(f"the content coding {name.decode('latin-1')!r} is not understood")


def inflate_body(raw: bytes, coding: str, limit: int) -> bytes:
    """Return a client's decompressed body. Raise CallError 400, 413 or 415."""
    if coding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        hint = "send identity or gzip"
        raise CallError(f"content encoding {coding!r} is not understood", status=415, code="encoding", hint=hint)
    state = Inflater(limit=limit)
    try:
        body = state.feed(raw)
    except ValueError as error:
        status = 413 if "more than" in str(error) else 400
        raise CallError(f"the body is {error}", status=status, code="encoding") from None
    if not state.whole:
        raise CallError("the compressed body is cut short", code="encoding")
    return body
