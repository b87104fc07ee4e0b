"""Render the status line and the headers of an answer."""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus

from edgeinf.mock.values import Plan

__all__ = ["render_head"]


def render_head(plan: Plan, *, length: int | None, chunked: bool) -> bytes:
    """Return everything before the body. ``length`` is None if it is not announced."""
    extra = "".join([f"{name}: {value}\r\n" for name, value in plan.headers])
    framing = b"transfer-encoding: chunked\r\n" if chunked else b""
    if length is not None:
        framing = b"content-length: %d\r\n" % length
    fixed = _fixed(plan.status, plan.reason, plan.content_type, int(time.time()))
    return b"%b%b%b\r\n" % (fixed, extra.encode("latin-1", "replace"), framing)


@lru_cache(maxsize=64)
def _fixed(status: int, reason: str, content_type: str, second: int) -> bytes:
    try:
        phrase = reason or HTTPStatus(status).phrase
    except ValueError:
        phrase = "Unknown"
    kind = f"content-type: {content_type}\r\n" if content_type else ""
    return f"HTTP/1.1 {status} {phrase}\r\ndate: {formatdate(second, usegmt=True)}\r\n{kind}".encode("latin-1")
