"""The server's side of a connection, with a short way for hits.

A small POST to a dialect's path is gathered whole before anything is started for it. If the short way answers, its
bytes go out at once; otherwise, or when the body dawdles, the application gets the request as if it had just come.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from edgeinf.serve.exchange import Exchange
from edgeinf.serve.front import Front
from edgeinf.serve.shortcut import Shortcut

__all__ = ["protocol_class"]

_log = logging.getLogger("edgeinf.serve")

# Larger bodies are read as they come.
_GATHERED = 256 * 1024
# A body that is not whole by then is left to the whole way, which bounds it.
_DAWDLE_S = 1.0


def protocol_class(shortcut: Shortcut, header_timeout_s: float, linger_s: float) -> type[asyncio.Protocol]:
    """Return the protocol of one process's connections."""
    bounds = {"header_timeout_s": header_timeout_s, "linger_s": linger_s}
    return type("Connection", (_Gathering,), {"shortcut": shortcut, **bounds})


class _Gathering(Front):
    shortcut: Shortcut

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._gathered: list[bytes] | None = None
        self._dawdling: asyncio.TimerHandle | None = None
        self._between = True  # no part of a request has come
        self._piece: bytes | None = None  # what came last, if it began with a request

    def connection_lost(self, exc: Exception | None) -> None:
        self._drop()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._piece = None
        if self._between:
            if self._free():
                answer = self.shortcut.again(data, self._host)
                if answer is not None:
                    self.head_came()
                    self.transport.write(answer)
                    self.server_state.total_requests += 1
                    self.rest()
                    return
            self._piece = data
        super().data_received(data)
        if self._gathered is not None and self._dawdling is None:
            self._dawdling = self.loop.call_later(_DAWDLE_S, self._hand_over)

    def on_message_begin(self) -> None:
        self._between = False
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if not self._may_gather():
            super().on_headers_complete()
            return
        self._gathered = []
        self.head_came()

    def on_body(self, body: bytes) -> None:
        if self._gathered is None:
            super().on_body(body)
        else:
            self._gathered.append(body)

    def on_message_complete(self) -> None:
        self._between = True
        pieces = self._gathered
        if pieces is not None:
            body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
            whole = self._piece if _alone(body, self._piece) else None
            answer = self._short(body, whole)
            if isinstance(answer, bytes):
                self._drop()
                self.transport.write(answer)
                self.on_response_complete()
                return
            self._hand_over(answer)
        super().on_message_complete()

    def _short(self, body: bytes, whole: bytes | None) -> bytes | Exchange | None:
        try:
            return self.shortcut.answer(self.url, self.headers, body, self._host, whole)
        except Exception:
            _log.exception("a bug on the short way")
            return None  # the whole way answers, and says what there is to say

    def _free(self) -> bool:
        """Return whether an answer may go out at once."""
        if self.flow.write_paused or self.transport.is_closing():
            return False
        return self.cycle is None or self.cycle.response_complete

    @property
    def _host(self) -> str:
        return self.client[0] if self.client else ""

    def _hand_over(self, asked: Exchange | None = None) -> None:
        """Let the application have the request, as far as it has come."""
        pieces = self._gathered or []
        self._drop()
        self.begin(asked)
        if pieces:
            super().on_body(b"".join(pieces))

    def _drop(self) -> None:
        self._gathered = None
        if self._dawdling is not None:
            self._dawdling.cancel()
            self._dawdling = None

    def _may_gather(self) -> bool:
        """Return whether this request is small, whole and alone on its connection."""
        parser = self.parser
        if parser.get_method() != b"POST" or not self.shortcut.claims(self.url) or self.expect_100_continue:
            return False
        if self.cycle is not None and not self.cycle.response_complete:
            return False
        if parser.get_http_version() != "1.1" or not parser.should_keep_alive() or self.flow.write_paused:
            return False
        for name, value in self.headers:
            if name == b"content-length":
                return value.isdigit() and len(value) < 8 and int(value) <= _GATHERED
        return False


def _alone(body: bytes, piece: bytes | None) -> bool:
    """Return whether a piece of what came is one request, with nothing before or after it."""
    return piece is not None and piece.find(b"\r\n\r\n") + 4 + len(body) == len(piece)
