"""Prompts and answers in events, where ``events.bodies`` asks for them: kept up to a bound, redacted before they leave.

What is captured is what the client sent and what it got. Reading and redacting happens on the event log's thread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from edgeinf.core.dialects import by_name
from edgeinf.core.events import Event
from edgeinf.core.redact import redact
from edgeinf.core.wire import sse
from edgeinf.serve.exchange import Exchange, Message, Send

__all__ = ["LIMIT", "Capture", "redaction", "with_bodies"]

LIMIT = 256 * 1024


class Capture:
    """Stands between an exchange and its client and keeps what is sent, up to ``LIMIT`` bytes."""

    __slots__ = ("_send", "_size", "parts")

    def __init__(self, send: Send) -> None:
        self._send = send
        self._size = 0
        self.parts: list[bytes] = []

    async def send(self, message: Message) -> None:
        """Pass a message on."""
        body: bytes = message.get("body", b"")
        if body and self._size < LIMIT:
            self.parts.append(body[: LIMIT - self._size])
            self._size += len(body)
        await self._send(message)


def with_bodies(event: Event, x: Exchange) -> Event:
    """Return the event with what was captured, as bytes for ``redaction`` to read."""
    answer = b"".join(x.captured.parts) if x.captured is not None else b""
    return msgspec.structs.replace(event, request=x.raw[:LIMIT] or None, response=answer or None)


def redaction(kinds: Sequence[str]) -> Callable[[Event], Event]:
    """Return what makes captured bytes readable and takes out credentials and the kinds of ``guard.redact``."""
    from edgeinf.serve.guard.redaction import Redactor

    redactor = Redactor(kinds) if kinds else None

    def clean(text: str) -> str:
        text = redact(text)
        return text if redactor is None else redactor(text)

    def prepare(event: Event) -> Event:
        if event.request is None and event.response is None:
            return event
        answer = _whole(event.dialect, event.response)
        return msgspec.structs.replace(
            event, request=_readable(event.request, clean), response=_readable(answer, clean)
        )

    return prepare


def _whole(dialect: str, body: Any) -> Any:
    """Return a stream as one answer: cut into tokens, a credential in it would not be seen."""
    if not isinstance(body, bytes) or not body.startswith((b"data:", b"event:", b":", b"id:", b"retry:")):
        return body
    try:
        return by_name(dialect).fold(sse.decode_all(body))
    except (ValueError, KeyError):
        return "(a stream that is not one whole answer)"


def _readable(body: Any, clean: Callable[[str], str]) -> Any:
    """Return bytes as JSON where they are JSON, else as text; every string in it cleaned."""
    if not isinstance(body, bytes):
        return body
    try:
        return _cleaned(msgspec.json.decode(body), clean)
    except (msgspec.DecodeError, RecursionError):
        return clean(body.decode("utf-8", "replace"))


def _cleaned(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(item, clean) for item in value]
    if isinstance(value, dict):
        return {clean(name): _cleaned(item, clean) for name, item in value.items()}
    return value
