"""One request on its way through the steps, and what became of it."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from edgeinf.core.call import Call, Usage
from edgeinf.core.dialects.base import Dialect
from edgeinf.core.errors import CallError
from edgeinf.core.key import Form, Key, Scope
from edgeinf.core.wire.headers import Headers
from edgeinf.serve.cache.entry import Entry
from edgeinf.serve.controls import NO_CONTROLS, Controls
from edgeinf.serve.cross_origin import leave_to_read
from edgeinf.serve.limits import report

if TYPE_CHECKING:
    from edgeinf.serve.bearers import Bearer
    from edgeinf.serve.flight import Flight
    from edgeinf.serve.limits.base import Charge, Level
    from edgeinf.serve.limits.terms import Term
    from edgeinf.serve.observe.bodies import Capture
    from edgeinf.serve.observe.tracing import Trace
    from edgeinf.serve.steps.answer import AnswerView
    from edgeinf.serve.steps.parts import Parts
    from edgeinf.serve.turn import Turn

__all__ = ["ClientGone", "Exchange", "Message", "Receive", "Send", "new_id"]

_log = logging.getLogger("edgeinf.serve")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

_PREFIX = os.urandom(5).hex()
_count = itertools.count(1)
_SHARED, _UNKNOWN = Scope("shared"), Usage()


def _renew_prefix() -> None:
    global _PREFIX
    _PREFIX = os.urandom(5).hex()


# Processes that are forked from one would otherwise give out the same ids.
os.register_at_fork(after_in_child=_renew_prefix)


def new_id() -> str:
    """Return the name of a request; no two of a fleet's processes give out the same."""
    return f"req-{_PREFIX}{next(_count):x}"


class ClientGone(Exception):
    """The client closed its connection, so there is nobody to answer."""


class Exchange:
    """The state of one request. Each step fills in its own fields and reads those of earlier steps."""

    __slots__ = (
        "_receive",
        "_send",
        "added",
        "address",
        "answered_by",
        "attempts",
        "bypass",
        "cache",
        "call",
        "captured",
        "charges",
        "client",
        "controls",
        "credential",
        "dialect",
        "entry_age_s",
        "error",
        "first_byte_at",
        "flight",
        "forms",
        "guard",
        "headers",
        "hits",
        "id",
        "key_id",
        "keys",
        "level",
        "memo_name",
        "method",
        "names",
        "on_end",
        "origin_ms",
        "parts",
        "path",
        "prompt",
        "query",
        "raw",
        "reason",
        "recalled",
        "region",
        "reserved",
        "rewritten",
        "saved_ms",
        "scope",
        "stale",
        "started",
        "started_at",
        "status",
        "stored",
        "team",
        "tier",
        "told",
        "trace",
        "ttft_at",
        "turn",
        "usage",
        "usd",
        "usd_saved",
        "user",
        "variant",
        "view",
        "virtual_key",
        "web_origin",
    )

    def __init__(
        self, method: str, path: str, query: str, headers: dict[bytes, bytes], client: str, receive: Receive, send: Send
    ) -> None:
        self.id = new_id()
        self.started = time.perf_counter()
        self.started_at = time.time()
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.client = client
        self.address = client  # the client's, as far as trusted proxies say
        self.web_origin: bytes | None = None  # of another site's page that may call and read
        self._receive = receive
        self._send = send
        self.turn: Turn | None = None  # its place on a connection of this server's
        self.raw = b""
        self.dialect: Dialect | None = None
        self.call: Call | None = None
        self.controls: Controls = NO_CONTROLS
        self.credential = ""  # digest of the client's own credential
        self.virtual_key: Bearer | None = None
        self.view: AnswerView | None = None  # what the rules make of its answer
        self.key_id: str | None = None
        self.team: str | None = None
        self.user: str | None = None
        self.scope = _SHARED
        self.level = ""
        self.forms: list[Form] = []
        self.keys: list[Key] = []
        self.memo_name: bytes | None = None
        self.recalled: bool | None = None  # whether an identical request is remembered, once that was looked up
        self.names: tuple[str, ...] = ()  # the forms' names in events
        self.variant = b""  # what this asker's rendering depends on
        self.bypass: str | None = None
        self.stale: Entry | None = None
        self.parts: Parts | None = None  # what became of each Key, where the call has many
        self.hits = 0  # how many of its Keys were found
        self.added = 0  # bytes that rules added to the prompt
        self.rewritten = False  # the effective body is not the one that came
        self.prompt: str | None = None  # the version of what was added to the prompt
        self.charges: list[tuple[Charge, Term]] = []
        self.reserved = _UNKNOWN
        self.told: list[tuple[Term, Level]] = []  # what it was charged, for the client to see
        self.flight: Flight | None = None  # the one that this call leads
        # What became of it:
        self.cache = "bypass"
        self.tier: str | None = None
        self.reason: str | None = None
        self.entry_age_s: float | None = None
        self.stored = False
        self.status = 0
        self.error: str | None = None
        self.region: str | None = None
        self.answered_by: str | None = None
        self.attempts = 0
        self.usage = _UNKNOWN
        self.usd: float | None = None
        self.usd_saved: float | None = None
        self.saved_ms: float | None = None  # what a hit's answer took the first time
        self.captured: Capture | None = None  # what was sent, where events hold it
        self.trace: Trace | None = None  # its place in a trace, where traces are kept
        self.guard: list[str] | None = None
        self.origin_ms = 0.0
        self.first_byte_at: float | None = None
        self.ttft_at: float | None = None
        self.on_end: list[Callable[[Exchange], None]] = []  # what must happen however the request ends

    async def start(self, status: int, headers: Headers) -> None:
        """Send the head of the answer."""
        self.status = status
        self.first_byte_at = time.perf_counter()
        headers = self.with_limits(headers)
        if self.web_origin is not None:
            headers = leave_to_read(self.web_origin, headers)
        await self._send({"type": "http.response.start", "status": status, "headers": headers})

    def with_limits(self, headers: Headers) -> Headers:
        """Return an answer's headers with the client's limits among them.

        They are those of this server; the origin's are about an account that is not the client's.
        """
        if not self.told:
            return headers
        told = report.headers(self.told)
        own = {name for name, _ in told}
        return [pair for pair in headers if pair[0] not in own] + told

    async def write(self, body: bytes, *, more: bool) -> None:
        """Send a part of the answer, waiting while the client does not read."""
        await self._send({"type": "http.response.body", "body": body, "more_body": more})

    async def answer(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a whole answer."""
        length = [] if status == 204 else [(b"content-length", b"%d" % len(body))]
        await self.start(status, [*headers, *length])
        await self.write(body, more=False)

    def answered_now(self, status: int) -> None:
        """Note that the whole answer goes out at this moment."""
        self.status = status
        self.first_byte_at = self.ttft_at = time.perf_counter()

    @property
    def call_streams(self) -> bool:
        """Return whether the caller wants a stream."""
        return self.call is not None and self.call.stream

    def capture(self) -> None:
        """Keep what is sent from here on."""
        from edgeinf.serve.observe.bodies import Capture

        self.captured = Capture(self._send)
        self._send = self.captured.send

    async def receive(self) -> Message:
        """Return the next message from the client's side."""
        return await self._receive()

    async def within(self, patience_s: float) -> Message:
        """Return the next message from the client's side. Raise CallError 408 where none comes in time."""
        try:
            async with asyncio.timeout(patience_s):
                return await self._receive()
        except TimeoutError:
            message = f"nothing more of the body came for {patience_s:g} s"
            raise CallError(message, status=408, code="request_timeout") from None

    def attend(self, receive: Receive, send: Send, turn: Turn | None) -> None:
        """Take up the client's side, where the request was looked at before."""
        self._receive, self._send, self.turn = receive, send, turn

    def when_gone(self, told: Callable[[], None]) -> Callable[[], object]:
        """Have ``told`` called when the client has closed its connection; return what ends that."""
        turn = self.turn
        if turn is None:
            watch = asyncio.get_running_loop().create_task(self.gone())
            watch.add_done_callback(lambda _: told())
            return watch.cancel
        turn.follow(told)
        return turn.unfollow

    async def gone(self) -> None:
        """Return when the client has closed its connection."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def header(self, name: bytes) -> str | None:
        """Return a request header as text."""
        value = self.headers.get(name)
        return None if value is None else value.decode("latin-1")

    def end(self) -> None:
        """Run what must happen however the request ends; each once, whatever becomes of the others."""
        while self.on_end:
            try:
                self.on_end.pop()(self)
            except Exception:
                _log.exception("a bug at the end of a request")
