"""One HTTP/2 connection to an origin: asyncio transport, h2 for the protocol, a stream for each request.

Memory is bounded per stream: an origin may send 256 KiB ahead of a stream's reader and no more. The window of the
whole connection is given back on arrival, so that a reader that is slow holds nobody back but itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any, cast

from h2 import events, exceptions
from h2.errors import ErrorCodes
from h2.settings import SettingCodes

from edgeinf.core.wire.headers import Headers
from edgeinf.serve.origin.client import ConnectionLost, Malformed, OriginFailure, Request
from edgeinf.serve.origin.http2.goaway import Frames, GoAway
from edgeinf.serve.origin.http2.liveness import Liveness
from edgeinf.serve.origin.http2.protocol import CONNECTION_WINDOW, STREAM_WINDOW, make_protocol, reason
from edgeinf.serve.origin.http2.sending import fields, pour, send_while_unanswered
from edgeinf.serve.origin.http2.stream import NotProcessed, Stream
from edgeinf.serve.origin.keeping import RACE_S, keep_alive

__all__ = ["FIRST_LIMIT", "Http2Connection"]

# So many streams are opened before the origin has said how many it allows.
FIRST_LIMIT = 100
# What we may owe an origin that asks (pings, settings) but reads no reply.
_MAX_OWED = 2**20


class Http2Connection(asyncio.Protocol):
    """One connection; carries as many requests at once as the origin allows."""

    def __init__(self, loop: asyncio.AbstractEventLoop, now: Callable[[], float], limit: int = FIRST_LIMIT) -> None:
        self._loop = loop
        self._now = now
        self.transport: asyncio.Transport | None = None
        self.born = self.idle_since = now()
        self.lost: OriginFailure | None = None
        self.kept = False  # it has waited for requests, so the origin may have closed it meanwhile
        self.unwelcome = False  # the origin wants HTTP/1.1 after all
        self.retired = False  # it takes no new requests
        self.limit = limit
        self.rests_until = 0.0  # the origin refused a stream just now
        self.streams: dict[int, Stream] = {}
        self.on_idle: Callable[[], None] | None = None
        self._frames = Frames()
        self.h2 = make_protocol()
        self._writable: asyncio.Future[None] | None = None
        self._blocked = False
        self._flushing = False
        self._owed = 0
        self._reads = 0
        self._unacknowledged = 0
        self._liveness = Liveness()

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        keep_alive(transport)
        self.flush()

    def data_received(self, data: bytes) -> None:
        if self.lost is not None:
            return
        self._reads += 1
        try:
            for part in self._frames.feed(data):
                if isinstance(part, GoAway):
                    self._going_away(part)
                    continue
                for event in self.h2.receive_data(part):
                    handler = _HANDLERS.get(type(event))
                    if handler is not None:
                        handler(self, event)
            if self.lost is None and self._unacknowledged >= CONNECTION_WINDOW // 2:
                self.h2.increment_flow_control_window(self._unacknowledged)
                self._unacknowledged = 0
        except exceptions.H2Error as error:
            self.flush()  # the frame that tells the origin why
            self._fail(Malformed(f"the origin's answer is not HTTP/2: {error or type(error).__name__}"))
            return
        self._liveness.hear(self._now(), owing=bool(self.streams))
        owed = self.flush()
        if self._blocked:
            self._owed += owed
            if self._owed > _MAX_OWED:
                self._fail(Malformed("the origin asks for replies and reads none"))

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.resume_writing()
        self._fail(ConnectionLost(f"the origin closed the connection{f': {exc}' if exc else ''}"))

    def pause_writing(self) -> None:
        self._blocked = True
        self._writable = self._loop.create_future()

    def resume_writing(self) -> None:
        self._blocked = False
        self._owed = 0
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)

    # --- what the origin says ---

    def _response(self, event: events.ResponseReceived) -> None:
        stream = self.streams.get(event.stream_id)
        if stream is None:
            return
        status = 0
        headers: Headers = []
        framed = False
        for name, value in event.headers:
            if name == b":status":
                status = int(value) if len(value) == 3 and value.isdigit() else 0
                continue
            framed = framed or name == b"content-length"
            headers.append((name, value))
        if status < 200:
            self._reset(stream, ErrorCodes.PROTOCOL_ERROR, Malformed("the origin's answer has no status"))
            return
        if not framed:
            # In HTTP/1.1's words, which the rest of the proxy reads: the end of this body is marked.
            headers.append((b"transfer-encoding", b"chunked"))
        stream.begin(status, headers)

    def _data(self, event: events.DataReceived) -> None:
        size, data = event.flow_controlled_length, event.data
        self._unacknowledged += size
        stream = self.streams.get(event.stream_id)
        if stream is not None:
            stream.add(data)
            if size > len(data):
                self.taken(stream, size - len(data))  # padding, which no reader takes

    def _ended(self, event: events.StreamEnded) -> None:
        stream = self.streams.pop(event.stream_id, None)
        if stream is None:
            return
        if stream.short:
            stream.fail(Malformed("the origin's answer is shorter than it says"))
        else:
            stream.finish()
        if not stream.sent:  # the rest of the request is of no use any more
            self._cancel(stream)
        self._idle()

    def _was_reset(self, event: events.StreamReset) -> None:
        stream = self.streams.pop(event.stream_id, None)
        if stream is None:
            return
        if event.error_code == ErrorCodes.REFUSED_STREAM and not stream.status:
            self.rests_until = self._now() + RACE_S
            stream.fail(NotProcessed("the origin refused the request's stream"))
        elif event.error_code == ErrorCodes.HTTP_1_1_REQUIRED and not stream.status:
            self.unwelcome = True
            stream.fail(NotProcessed("the origin wants to be asked over HTTP/1.1"))
        else:
            stream.fail(ConnectionLost(f"the origin ended the stream: {reason(event.error_code)}"))
        self._idle()

    def _settings(self, event: events.RemoteSettingsChanged) -> None:
        changed = event.changed_settings.get(SettingCodes.MAX_CONCURRENT_STREAMS)
        if changed is not None:
            self.limit = changed.new_value
        for stream in self.streams.values():
            stream.may_send()

    def _window(self, event: events.WindowUpdated) -> None:
        if event.stream_id:
            stream = self.streams.get(event.stream_id)
            if stream is not None:
                stream.may_send()
            return
        for stream in self.streams.values():
            stream.may_send()

    def _going_away(self, goaway: GoAway) -> None:
        self.retired = True
        for stream in [stream for stream in self.streams.values() if stream.number > goaway.last]:
            del self.streams[stream.number]
            kind = ConnectionLost if stream.status else NotProcessed
            stream.fail(kind(f"the origin ends the connection: {reason(goaway.code)}"))
        self._idle()

    # --- one request ---

    @property
    def doubted(self) -> bool:
        """Return whether the origin may not be there any more."""
        return self._liveness.doubted

    @property
    def open(self) -> bool:
        """Return whether the connection stands, as far as is known."""
        return self.transport is not None and self.lost is None and not self.transport.is_closing()

    async def ask(self, head: Headers, request: Request) -> Stream:
        """Send a request on a stream of its own and wait for the answer's head. Raise OriginFailure."""
        if not self.open:
            raise NotProcessed("the origin closed the connection")
        number = self.h2.get_next_available_stream_id()
        stream = self.streams[number] = Stream(self, number, self._loop.create_future())
        stream.opened_at, stream.opened_after, stream.on_kept = self._now(), self._reads, self.kept
        self._liveness.expect(stream.opened_at)
        stream.to_head = request.method == "HEAD"
        body = request.body
        try:
            stream.sent = body == b""
            self.h2.send_headers(number, fields(head, request), end_stream=stream.sent)
            at = pour(self.h2, stream, body, 0, last=True) if isinstance(body, bytes) and body else 0
            self._flush_soon()
            if stream.sent:
                await stream.head
            else:
                await send_while_unanswered(self, stream, body, at)
        except exceptions.H2Error as error:
            stream.close()
            raise NotProcessed(f"the connection takes no request: {error or type(error).__name__}") from None
        except BaseException:
            stream.close()
            raise
        return stream

    def carries(self, stream: Stream) -> bool:
        return self.open and stream.number in self.streams

    async def drained(self) -> bool:
        if not self._blocked or self._writable is None:
            return False
        await self._writable
        return True

    # --- what the streams say ---

    def taken(self, stream: Stream, size: int) -> None:
        """Let the origin send as much more as was read, in steps of half a window."""
        stream.unacknowledged += size
        if stream.unacknowledged >= STREAM_WINDOW // 2 and stream.number in self.streams:
            with contextlib.suppress(exceptions.H2Error):  # it ended meanwhile
                self.h2.increment_flow_control_window(stream.unacknowledged, stream.number)
            stream.unacknowledged = 0
            self._flush_soon()

    def leave(self, stream: Stream) -> None:
        """End a stream that nobody reads any more, at once and alone."""
        if self.streams.get(stream.number) is stream:
            del self.streams[stream.number]
            stream.fail(ConnectionLost("the reader left"))
            self._cancel(stream)
            if stream.opened_after == self._reads and self._now() - stream.opened_at > RACE_S:
                self._doubt()  # whoever waited for it heard nothing at all
            self._idle()

    def _reset(self, stream: Stream, code: ErrorCodes, error: OriginFailure) -> None:
        del self.streams[stream.number]
        stream.fail(error)
        self._cancel(stream, code)
        self._idle()

    def _cancel(self, stream: Stream, code: ErrorCodes = ErrorCodes.CANCEL) -> None:
        with contextlib.suppress(exceptions.H2Error):  # it ended meanwhile
            self.h2.reset_stream(stream.number, code)
        self.flush()

    # --- the whole ---

    def tend(self) -> None:
        """Ask an origin that has long owed a word whether it is there; close where it does not say so."""
        verdict = self._liveness.verdict(self._now()) if self.open else "there"
        if verdict == "gone":
            self._fail(ConnectionLost("the origin does not react any more"))
        elif verdict == "silent":
            self._doubt()

    def _doubt(self) -> None:
        """Ask the origin whether it is there, and take nothing new until it says so."""
        if self.open and self._liveness.ask(self._now()):
            self.h2.ping(b"edgeinf?")
            self.flush()

    def retire(self) -> None:
        """Take no new request, and close after the last answer."""
        self.retired = True
        self._idle()

    def close(self) -> None:
        """Close at once; what is under way is lost."""
        if self.open:
            with contextlib.suppress(exceptions.H2Error):
                self.h2.close_connection()
            self.flush()
        self._fail(ConnectionLost("the connection was closed"))

    def abort(self) -> None:
        """Close at once, discarding what is unsent."""
        if self.transport is not None:
            self.transport.abort()

    def _idle(self) -> None:
        if self.streams:
            return
        self.idle_since, self.kept = self._now(), True
        if self.retired:
            self.close()
        if self.on_idle is not None:
            self.on_idle()

    def _flush_soon(self) -> None:
        """Write at the end of this turn, what all have to say in it at once."""
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush_now)

    def _flush_now(self) -> None:
        self._flushing = False
        self.flush()

    def flush(self) -> int:
        data = self.h2.data_to_send()
        if data and self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)
        return len(data)

    def _fail(self, error: OriginFailure) -> None:
        if self.lost is None:
            self.lost = error
            streams, self.streams = list(self.streams.values()), {}
            for stream in streams:
                stream.fail(self._unheard(stream) or error)
        self.abort()

    def _unheard(self, stream: Stream) -> NotProcessed | None:
        """Return why a request may be asked again: the kept connection was gone before it arrived."""
        kept = stream.on_kept and stream.opened_after == self._reads and self._now() - stream.opened_at < RACE_S
        return NotProcessed("the origin closed the connection") if kept and self.transport is None else None


_HANDLERS: dict[type[events.Event], Callable[[Http2Connection, Any], None]] = {
    events.ResponseReceived: Http2Connection._response,
    events.DataReceived: Http2Connection._data,
    events.StreamEnded: Http2Connection._ended,
    events.StreamReset: Http2Connection._was_reset,
    events.RemoteSettingsChanged: Http2Connection._settings,
    events.WindowUpdated: Http2Connection._window,
}
