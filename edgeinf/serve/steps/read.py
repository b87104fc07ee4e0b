"""What is asked? The dialect reads the body; nothing is forwarded that was not understood."""

from __future__ import annotations

from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import parse_object
from edgeinf.serve.controls import read_controls
from edgeinf.serve.exchange import Exchange

__all__ = ["read_call"]


def read_call(x: Exchange) -> None:
    """Set the call and the controls. Raise CallError 400 or 415."""
    assert x.dialect is not None
    content_type = x.header(b"content-type")
    if content_type is not None and not content_type.split(";")[0].strip().lower().endswith("json"):
        raise CallError(
            f"content type {content_type.split(';')[0].strip()!r} is not understood here",
            status=415,
            code="unsupported_media_type",
            hint="send application/json",
        )
    x.call = x.dialect.read(x.path, x.query, parse_object(x.raw))
    x.controls = read_controls(x.headers)
