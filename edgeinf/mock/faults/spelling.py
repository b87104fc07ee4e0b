"""Faults of the spelling: how events are written, cut into packets and encoded."""

from __future__ import annotations

import gzip as gzip_module
import zlib
from collections.abc import Iterable, Iterator

from edgeinf.mock.faults.context import Context, insert
from edgeinf.mock.values import Kind, Piece

__all__ = ["bom", "comment", "cr", "crlf", "fields", "gzip", "junk_tail", "no_blank", "split"]


def crlf(context: Context) -> None:
    """End the lines of a stream with CR LF."""
    _rewrite(context, lambda data: data.replace(b"\n", b"\r\n"))


def cr(context: Context) -> None:
    """End the lines of a stream with CR alone."""
    _rewrite(context, lambda data: data.replace(b"\n", b"\r"))


def bom(context: Context) -> None:
    """Start the body with a byte order mark."""
    plan = context.plan
    mark = Piece(Kind.PART, b"\xef\xbb\xbf")
    plan.pieces = insert(plan.pieces, 0, None, lambda: iter((mark,)))


def comment(context: Context, *, text: str = "OPENROUTER PROCESSING", after: int = 0, times: int = 1) -> None:
    """Put comment lines between events."""
    piece = b": %b\n\n" % text.encode()
    context.plan.pieces = insert(
        context.plan.pieces, after, None, lambda: (Piece(Kind.SIDE, piece) for _ in range(times))
    )


def fields(context: Context, *, id: bool = True, event: str = "", retry: int = 0) -> None:
    """Add ``id:``, ``event:`` or ``retry:`` lines before the data of each event."""
    context.plan.pieces = _with_fields(context.plan.pieces, id, event, retry)


def no_blank(context: Context) -> None:
    """Leave out the empty line after the last event."""
    context.plan.pieces = _without_last_blank(context.plan.pieces)


def junk_tail(context: Context, *, text: str = "data: {not json\\n\\n") -> None:
    """Send more after the end marker."""
    piece = Piece(Kind.SIDE, text.replace("\\n", "\n").encode())
    context.plan.pieces = insert(context.plan.pieces, 1 << 40, None, lambda: iter((piece,)))


def gzip(context: Context) -> None:
    """Compress the body, asked or not; a stream is flushed after each event."""
    plan = context.plan
    plan.headers = [*plan.headers, ("content-encoding", "gzip")]
    if plan.stream:
        plan.pieces = _compressed(plan.pieces)
    else:
        plan.pieces = [Piece(p.kind, gzip_module.compress(p.data, mtime=0), p.tokens) for p in plan.pieces]


def split(context: Context, *, size: int = 1, at: str = "size", gap_s: float = 0.0) -> None:
    """Send each event in packets of ``size`` bytes, or ``at=utf8``: cut inside every character of several bytes."""
    context.plan.pieces = _split(context.plan.pieces, size, at == "utf8", gap_s)


def _rewrite(context: Context, rewrite: object) -> None:
    if context.plan.stream:
        context.plan.pieces = _rewritten(context.plan.pieces, rewrite)


def _rewritten(pieces: Iterable[Piece], rewrite: object) -> Iterator[Piece]:
    assert callable(rewrite)
    for piece in pieces:
        piece.data = rewrite(piece.data)
        yield piece


def _with_fields(pieces: Iterable[Piece], number: bool, event: str, retry: int) -> Iterator[Piece]:
    for index, piece in enumerate(pieces):
        lines = b"retry: %d\n" % retry if retry else b""
        lines += b"id: %d\n" % index if number else b""
        lines += b"event: %b\n" % event.encode() if event and not piece.data.startswith(b"event:") else b""
        if piece.data:
            piece.data = lines + piece.data
        yield piece


def _without_last_blank(pieces: Iterable[Piece]) -> Iterator[Piece]:
    last: Piece | None = None
    for piece in pieces:
        if last is not None:
            yield last
        last = piece
    if last is not None:
        last.data = last.data[:-1] if last.data.endswith(b"\n\n") else last.data
        yield last


def _compressed(pieces: Iterable[Piece]) -> Iterator[Piece]:
    packer = zlib.compressobj(wbits=31)
    for piece in pieces:
        if piece.data:
            piece.data = packer.compress(piece.data) + packer.flush(zlib.Z_SYNC_FLUSH)
        yield piece
    yield Piece(Kind.PART, packer.flush())


def _split(pieces: Iterable[Piece], size: int, inside_utf8: bool, gap_s: float) -> Iterator[Piece]:
    for piece in pieces:
        data = piece.data
        edges = _utf8_edges(data) if inside_utf8 else list(range(max(1, size), len(data), max(1, size)))
        begin, wait_s = 0, piece.wait_s
        for edge in edges:
            yield Piece(Kind.PART, data[begin:edge], wait_s=wait_s, alone=True)
            begin, wait_s = edge, gap_s
        piece.data, piece.wait_s, piece.alone = data[begin:], wait_s, True
        yield piece


def _utf8_edges(data: bytes) -> list[int]:
    """Return every position before a continuation byte."""
    return [i for i, byte in enumerate(data) if byte & 0xC0 == 0x80 and i]
