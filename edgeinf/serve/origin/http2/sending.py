"""A request on its way out: as fields and as a body, which goes as fast as the origin's windows let it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterable
from typing import Protocol

from h2.connection import H2Connection
from hpack import NeverIndexedHeaderTuple

from edgeinf.core.wire.headers import CREDENTIALS, HOP_BY_HOP, Headers
from edgeinf.serve.origin.client import Request
from edgeinf.serve.origin.http2.stream import Stream

__all__ = ["Outlet", "fields", "pour", "send_while_unanswered"]

# Written at once for one request before the loop has its turn.
_BURST = 256 * 1024
_NEVER = HOP_BY_HOP | {b"host", b"content-length", b"http2-settings"}


class Outlet(Protocol):
    """The connection, as one who sends sees it."""

    h2: H2Connection

    def flush(self) -> int:
        """Write what the protocol has ready."""
        ...

    def carries(self, stream: Stream) -> bool:
        """Return whether a stream still stands."""
        ...

    async def drained(self) -> bool:
        """Wait until the socket takes more; return False at once where it does."""
        ...


def fields(head: Headers, request: Request) -> Headers:
    """Return the request's fields: what may travel, credentials marked to stay out of the compression's memory."""
    out = list(head)
    for name, value in request.headers:
        if name in CREDENTIALS:
            out.append(NeverIndexedHeaderTuple(name, value.strip()))
        elif name not in _NEVER:
            out.append((name, value.strip()))
    if isinstance(request.body, bytes) and (request.body or request.method in ("POST", "PUT", "PATCH")):
        out.append((b"content-length", b"%d" % len(request.body)))
    return out


def pour(h2: H2Connection, stream: Stream, data: bytes, at: int, *, last: bool) -> int:
    """Hand over of ``data`` from ``at`` what the windows have room for; return how far that is."""
    room = min(h2.local_flow_control_window(stream.number), _BURST)
    frame = h2.max_outbound_frame_size
    while at < len(data) and room > 0:
        size = min(len(data) - at, room, frame)
        stream.sent = last and at + size == len(data)
        h2.send_data(stream.number, data[at : at + size], end_stream=stream.sent)
        at, room = at + size, room - size
    return at


async def send_while_unanswered(outlet: Outlet, stream: Stream, body: bytes | AsyncIterable[bytes], at: int) -> None:
    """Send a body until the answer's head comes, and wait for that. Raise what making the body raises."""
    sending = asyncio.ensure_future(_send(outlet, stream, body, at))
    try:
        # An origin may answer (an error, mostly) before it has read everything.
        await asyncio.wait({sending, stream.head}, return_when=asyncio.FIRST_COMPLETED)
        if sending.done():
            sending.result()
        await stream.head
    finally:
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await sending


async def _send(outlet: Outlet, stream: Stream, body: bytes | AsyncIterable[bytes], at: int) -> None:
    """Send a body to its end, or until its stream has ended."""
    if isinstance(body, bytes):
        await _send_piece(outlet, stream, body, at, last=True)
        return
    async for chunk in body:
        if not await _send_piece(outlet, stream, chunk, 0, last=False):
            return
    if outlet.carries(stream):
        stream.sent = True
        outlet.h2.end_stream(stream.number)
        outlet.flush()


async def _send_piece(outlet: Outlet, stream: Stream, data: bytes, at: int, *, last: bool) -> bool:
    """Send one piece; return whether the stream still stands."""
    while at < len(data):
        if not outlet.carries(stream):
            return False
        sent = pour(outlet.h2, stream, data, at, last=last)
        outlet.flush()
        if sent == at:
            await stream.wait_for_window()
        elif not await outlet.drained() and sent < len(data):
            await asyncio.sleep(0)  # the others have their turn
        at = sent
    return outlet.carries(stream)
