"""A key's models hold on paths that no dialect reads as well: the model is found in the body as it passes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from urllib.parse import parse_qs

from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import parse_object
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.multipart import FieldWatch, boundary_of
from edgeinf.serve.steps.account import holds_account
from edgeinf.serve.steps.authenticate import permit_model

__all__ = ["permitted"]


async def permitted(x: Exchange, pieces: AsyncIterator[bytes], limit: int) -> AsyncIterator[bytes]:
    """Yield the body of a request whose key may use its model. Raise CallError 400, 403, 413 or 415.

    An upload streams through: what names the model is read before it is passed on, and the end of the body only
    passes once everything in it was allowed. A JSON body is read whole, up to ``limit`` bytes.
    """
    bearer = x.virtual_key
    if bearer is None or bearer.models is None:
        async for piece in pieces:
            yield piece
        return
    for model in parse_qs(x.query).get("model", ()):
        permit_model(x, model)
    named = not holds_account(x.method, x.path)  # what computes must say with which model
    coding = x.headers.get(b"content-encoding", b"").strip().lower()
    kind = x.headers.get(b"content-type", b"")
    media = kind.split(b";")[0].strip().lower()
    if media.startswith(b"multipart/") and coding in (b"", b"identity"):
        boundary = boundary_of(kind)
        if boundary is None:
            raise CallError("the multipart body names no boundary", code="invalid_multipart")
        watch = FieldWatch(boundary, b"model", lambda model: permit_model(x, model), _no_model if named else None)
        async for piece in pieces:
            passed = watch.feed(piece)
            if passed:
                yield passed
        watch.finish()
    elif media.endswith(b"json") and coding in (b"", b"identity"):
        body = bytearray()
        async for piece in pieces:
            body += piece
            if len(body) > limit:
                raise CallError(f"the body is larger than {limit} bytes", status=413, code="too_large")
        chosen = parse_object(bytes(body)).get("model")
        if isinstance(chosen, str):
            permit_model(x, chosen)
        elif named:
            _no_model()
        yield bytes(body)
    elif named:
        raise CallError(
            "the model of this body cannot be read, and the key may use some models only",
            status=415,
            code="unsupported_media_type",
            hint="send JSON or multipart/form-data without a content encoding",
        )
    else:
        async for piece in pieces:
            yield piece


def _no_model() -> None:
    raise CallError(
        "the body names no model, and the key may use some models only",
        status=403,
        code="model_not_allowed",
        param="model",
    )
