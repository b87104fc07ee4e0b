"""The server's side of a connection: uvicorn's, with a bound on how long and how large the head of a request may be.

A client that sends its head a byte at a time would hold a connection for ever, and one that never ends it, memory.
"""

from __future__ import annotations

import asyncio
import re
import select
import ssl
from typing import Any
from urllib.parse import unquote, urlsplit

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from edgeinf.core.config.schema import Tls
from edgeinf.core.errors import ConfigError
from edgeinf.serve.turn import EXTENSION, Turn

__all__ = ["MAX_HEAD", "Front", "check_tls"]

MAX_HEAD = 64 * 1024
# Timers fire this much early, being kept in whole milliseconds.
_TICK_S = 0.005

# Clients that would rather speak HTTP/2 offer to change to it. An offer may be passed over (RFC 9110, section 7.8), but
# the parser takes it for the end of HTTP, and would lose the body behind it.
_OFFER = re.compile(rb"\r\nupgrade:[^\r\n]*", re.IGNORECASE)

# How long a client may take to part from a connection that is closed.
_PARTING_S = 1.0

_LATE = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Front(HttpToolsProtocol):
    """A connection whose request heads are bounded in time and size."""

    header_timeout_s: float
    linger_s: float = 0.0

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._in_head = True
        self._head_bytes = 0
        self._late: asyncio.TimerHandle | None = None
        self._rested_at: float | None = None  # since when nothing is asked, if so
        self._running: Turn | None = None  # the latest whose answer was begun; later ones wait for it
        self._leaving = False  # the server ends, and this connection with it
        self._last: asyncio.TimerHandle | None = None  # until when it waits for a last request

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._rested_at = self.loop.time()
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._rest()
        if self._last is not None:
            self._last.cancel()
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
        if self._running is not None:
            if not self._running.response_complete:
                self._running.disconnected = True
                self._running.message_event.set()
            self._running.left()

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD and self._late is not None and len(data) < self._head_bytes:
                # Still in the head that earlier reads began. One read alone is bounded by the transport.
                self._refuse(_LARGE)
                return
        if b"pgrade" in data and (self._in_head or self._rested_at is not None):
            data = _without_offer(data)
        super().data_received(data)
        if self._in_head and self._late is None and self._head_bytes:
            self._await_head()  # a later request of this connection began and its head is not whole

    def on_message_begin(self) -> None:
        self._rested_at = None
        self._in_head = True
        self._head_bytes = max(self._head_bytes, 1)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self.head_came()
        self.begin()

    def begin(self, asked: Any = None) -> None:
        """Let the application have the request; ``asked`` is what is known of it already."""
        parser, before = self.parser, self.cycle
        version = parser.get_http_version()
        raw_path, query = _parts(self.url)
        path = raw_path.decode("ascii")
        self.cycle = Turn(
            scope=self.scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        self.cycle.asked = asked
        scope: Any = self.scope
        scope.update(
            method=parser.get_method().decode("ascii"),
            http_version=version,
            headers=self.headers.copy(),  # what comes behind the body is none of them
            path=unquote(path) if "%" in path else path,
            raw_path=raw_path,
            query_string=query,
            extensions={EXTENSION: self.cycle},
        )
        if before is None or before.response_complete:
            self.start(self.cycle, self.app)
        else:  # it waits for the answers to those before it
            self.flow.pause_reading()
            self.pipeline.appendleft((self.cycle, self.app))

    def head_came(self) -> None:
        """Note that the head of a request is whole."""
        self._in_head = False
        self._head_bytes = 0
        self._rest()

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self.start(*self.pipeline.pop())
        else:
            self.rest()

    def start(self, cycle: Any, app: Any) -> None:
        """Let the application answer."""
        self._running = cycle
        task = self.loop.create_task(cycle.run_asgi(app))
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)

    def rest(self) -> None:
        """Wait for a next request, but not for ever. One timer serves many rests: it looks itself since when."""
        self._rested_at = self.loop.time()
        if self.timeout_keep_alive_task is None:
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        if self._leaving:
            self._leave()

    def forewarn(self) -> None:
        """Say in the answer under way, if its head is not out yet, that it is the connection's last."""
        if self.cycle is not None and not self.cycle.response_started:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """End the connection after what is under way.

        A client that was not told so may be asking at this very moment, so that a connection is closed only when
        nothing was asked on it for ``linger_s``. From here on each answer says that it is the last.
        """
        self.forewarn()
        self._leave()

    def _leave(self) -> None:
        self._leaving = True
        if self._last is not None:
            self._last.cancel()
            self._last = None
        if self._rested_at is None or self.transport.is_closing():
            return  # what is asked is answered first
        left_s = self._rested_at + self.linger_s - self.loop.time()
        if left_s <= _TICK_S and not self._unread():
            self.transport.close()
            if not self.transport.get_write_buffer_size():
                # Under TLS a close waits for the client's own word, which a client that is not reading does not say.
                self._last = self.loop.call_later(_PARTING_S, self.transport.abort)
        else:
            self._last = self.loop.call_later(max(left_s, _TICK_S), self._leave)

    def _unread(self) -> bool:
        """Return whether a request may lie in the system's buffer."""
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))

    def timeout_keep_alive_handler(self) -> None:
        self.timeout_keep_alive_task = None
        if self._rested_at is None:
            return
        left_s = self._rested_at + self.timeout_keep_alive - self.loop.time()
        if left_s <= _TICK_S:
            super().timeout_keep_alive_handler()
        else:
            self.timeout_keep_alive_task = self.loop.call_later(left_s, self.timeout_keep_alive_handler)

    def _unset_keepalive_if_required(self) -> None:
        pass  # a rest ends with the first byte of a request, and the timer sees that

    def _await_head(self) -> None:
        self._late = self.loop.call_later(self.header_timeout_s, self._too_late)

    def _rest(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._late = None
        self._refuse(_LATE if self._head_bytes else b"")

    def _refuse(self, answer: bytes) -> None:
        """Close the connection, with an answer if nothing of another is under way."""
        self._rest()
        if self.transport is None or self.transport.is_closing():
            return
        if answer and (self.cycle is None or self.cycle.response_complete):
            self.transport.write(answer)
        self.transport.close()


def _without_offer(data: bytes) -> bytes:
    """Return what came without the offer in its head to speak another protocol."""
    end = data.find(b"\r\n\r\n")
    return data if end < 0 else _OFFER.sub(b"", data[:end]) + data[end:]


def _parts(target: bytes) -> tuple[bytes, bytes]:
    """Return path and query of a request's target, which a client of a forward proxy sends with scheme and host."""
    if not target.startswith(b"/"):
        parts = urlsplit(target)
        return parts.path or b"/", parts.query
    path, _, query = target.partition(b"#")[0].partition(b"?")
    return path, query


def check_tls(tls: Tls) -> None:
    """Raise ConfigError where the certificate and its key cannot be used."""
    for name, path in (("cert", tls.cert), ("key", tls.key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise ConfigError(f"cannot read listen.tls.{name}: {error.strerror} ({path})") from None
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.cert, tls.key, password=_no_password)
    except ssl.SSLError as error:
        reason = (error.reason or "it is no certificate").lower().replace("_", " ")
        raise ConfigError(
            f"listen.tls cannot be used: {reason}", hint="PEM files; the key without a password"
        ) from None


def _no_password() -> str:
    return ""  # a key with a password must not make the server wait for somebody to type it
