"""Faults that answer something else: statuses, errors inside a 200, redirects, what is not JSON."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator
from email.utils import formatdate
from itertools import chain

from edgeinf.mock.faults.context import Context, insert, is_event, split_off
from edgeinf.mock.values import Kind, Piece

__all__ = ["garbage", "html", "malformed", "redirect", "soft_error", "status"]

_SECONDS = re.compile(r"\d+s")
_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout",
    409: "conflict",
    413: "request_too_large",
    429: "rate_limit_exceeded",
    500: "server_error",
    502: "bad_gateway",
    503: "service_unavailable",
    529: "overloaded_error",
}


def status(
    context: Context,
    *,
    status: int = 500,
    message: str = "the scripted origin refuses this call",
    retry_after: str = "",
    retry_after_ms: int = -1,
    retry_after_date_s: float = -1.0,
    body: str | None = None,
) -> None:
    """Answer with an error status. ``retry_after`` is the header's text; the others are its other two forms."""
    plan = context.plan
    plan.status, plan.stream, plan.content_type, plan.tokens = status, False, "application/json", 0
    rendered = context.dialect.error(status, message, _KINDS.get(status, "server_error"))
    plan.pieces = (Piece(Kind.WHOLE, rendered if body is None else body.encode()),)
    if retry_after:
        plan.headers = [
            *plan.headers,
            ("retry-after", retry_after[:-1] if _SECONDS.fullmatch(retry_after) else retry_after),
        ]
    if retry_after_ms >= 0:
        plan.headers = [*plan.headers, ("retry-after-ms", str(retry_after_ms))]
    if retry_after_date_s >= 0:
        date = formatdate(time.time() + retry_after_date_s, usegmt=True)
        plan.headers = [*plan.headers, ("retry-after", date)]


def soft_error(
    context: Context,
    *,
    kind: str = "overloaded_error",
    message: str = "Overloaded",
    after: int = 0,
    tokens: int | None = None,
    ends: bool = True,
) -> None:
    """Answer 200 with an error inside: the whole body, or an event after so many; ``ends`` drops the rest."""
    plan = context.plan
    if not plan.stream:
        plan.pieces = (Piece(Kind.WHOLE, context.dialect.error(200, message, kind)),)
        return
    sent = 0

    def counted(pieces: Iterable[Piece]) -> Iterator[Piece]:
        nonlocal sent
        for piece in pieces:
            sent += 1
            yield piece

    def error() -> Iterator[Piece]:
        data = context.dialect.error(200, message, kind, in_stream=True, number=sent)
        yield Piece(Kind.ERROR, data)

    if ends:
        plan.pieces = chain(counted(split_off(plan.pieces, after, tokens)), error())
    else:
        plan.pieces = counted(insert(plan.pieces, after, tokens, error))


def malformed(context: Context, *, after: int = 0, tokens: int | None = None) -> None:
    """Send a copy, broken off in its JSON, before the event after so many; of a whole body only the half."""
    plan = context.plan
    if not plan.stream:
        plan.pieces = [Piece(p.kind, p.data[: len(p.data) // 2], p.tokens) for p in plan.pieces]
        return
    plan.pieces = _broken_before(plan.pieces, after, tokens)


def redirect(context: Context, *, to: str, status: int = 307) -> None:
    """Redirect to another address; a ``to`` without a path keeps the request's own."""
    plan = context.plan
    target = to if to.count("/") > 2 else to + context.ask.path
    plan.status, plan.stream, plan.pieces = status, False, (Piece(Kind.WHOLE, b""),)
    plan.headers = [*plan.headers, ("location", target)]


def html(context: Context, *, status: int = 502) -> None:
    """Answer as a gateway in between does: an HTML page."""
    plan = context.plan
    plan.status, plan.stream, plan.content_type = status, False, "text/html"
    page = b"<html><head><title>%d</title></head><body><h1>upstream</h1></body></html>" % status
    plan.pieces = (Piece(Kind.WHOLE, page),)


def garbage(context: Context) -> None:
    """Answer with bytes that are not HTTP, and close."""
    plan = context.plan
    plan.before = Piece(Kind.CLOSE, b"\x16\x03\x01 this is not http\r\n\r\n")


def _broken_before(pieces: Iterable[Piece], after: int, tokens: int | None) -> Iterator[Piece]:
    events = seen = 0
    done = False
    for piece in pieces:
        if not done and piece.data and ((seen >= tokens) if tokens is not None else (events >= after)):
            done = True
            yield Piece(Kind.ERROR, piece.data[: len(piece.data) * 2 // 3].rstrip() + b"\n\n")
        yield piece
        events += is_event(piece)
        seen += piece.kind is Kind.TOKEN
