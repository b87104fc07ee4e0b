"""A key's models and the guard's patterns hold on paths that no dialect reads as well: in the body as it passes.

What is JSON or a form is looked through; of other bodies only the event says that nobody could. Files in forms are
data and are not looked into, and so are answers.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qs

import msgspec

from edgeinf.core.dialects.prompt_text import map_every_text
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import parse
from edgeinf.serve.exchange import Exchange
from edgeinf.serve.multipart import FieldWatch, boundary_of
from edgeinf.serve.origin.decoding import inflate_body
from edgeinf.serve.steps.account import holds_account
from edgeinf.serve.steps.authenticate import permit_model
from edgeinf.serve.steps.guard import GuardRules, deny
from edgeinf.serve.steps.upload import HOLD, Pieces, held

__all__ = ["checked", "checks", "media_of"]

# Bodies of more bytes than this are looked through on a thread.
_LARGE = 256 * 1024


def media_of(x: Exchange) -> bytes:
    """Return the media type of a request's body, without parameters."""
    return x.headers.get(b"content-type", b"").split(b";")[0].strip().lower()


def checks(x: Exchange, rules: GuardRules) -> bool:
    """Return whether anything in the request's body has to be looked at."""
    return x.method not in ("GET", "HEAD") and (_chooses(x) or _reads(rules))


def _chooses(x: Exchange) -> bool:
    return x.virtual_key is not None and x.virtual_key.models is not None


def _reads(rules: GuardRules) -> bool:
    return bool(rules.deny) or rules.redactor is not None


async def checked(x: Exchange, pieces: AsyncIterator[bytes], rules: GuardRules, limit: int) -> AsyncIterator[bytes]:
    """Yield the body of a request that may pass, redacted. Raise CallError 400, 403, 413 or 415.

    An upload streams through: what decides is read before it is passed on, and the end of the body only passes once
    everything in it was allowed. A JSON body is read whole, up to ``limit`` bytes, and comes as one piece; before
    that piece a content encoding is gone from the request's headers.
    """
    for model in parse_qs(x.query).get("model", ()):
        permit_model(x, model)
    named = _chooses(x) and not holds_account(x.method, x.path)  # what computes must say with which model
    kind, media = x.headers.get(b"content-type", b""), media_of(x)
    plain = x.headers.get(b"content-encoding", b"").strip().lower() in (b"", b"identity")
    if media.startswith(b"multipart/") and plain:
        async for passed in _form(x, kind, pieces, rules, named=named):
            yield passed
    elif media.endswith(b"json"):
        raw = await _inflated(x, await _whole(pieces, limit), limit)
        yield await _json(x, raw, parse(raw) if raw or named else None, rules, named=named)
    elif named:
        raise CallError(
            "the model of this body cannot be read, and the key may use some models only",
            status=415,
            code="unsupported_media_type",
            hint="send JSON or multipart/form-data without a content encoding",
        )
    else:
        body = await held(pieces, HOLD)
        if isinstance(body, bytes):
            yield await _anything(x, body, rules, plain=plain)
        else:
            _unchecked(x, rules)
            async for passed in body:
                yield passed


# --- forms ---


async def _form(
    x: Exchange, kind: bytes, pieces: AsyncIterator[bytes], rules: GuardRules, *, named: bool
) -> AsyncIterator[bytes]:
    boundary = boundary_of(kind)
    if boundary is None:
        raise CallError("the multipart body names no boundary", code="invalid_multipart")
    said: list[str] = []
    found: Counter[str] = Counter()

    def text(value: str) -> str:
        said.append(value)
        return value if rules.redactor is None else rules.redactor(value, found)

    watch = FieldWatch(
        boundary,
        b"model",
        lambda model: permit_model(x, model),
        _no_model if named else None,
        text if _reads(rules) else None,
    )
    async for piece in pieces:
        passed = watch.feed(piece)
        if said and rules.deny:
            await deny(x, rules.deny, said)
        said.clear()
        if passed:
            yield passed
    watch.finish()
    _note(x, found)


# --- documents ---


async def _whole(pieces: AsyncIterator[bytes], limit: int) -> bytes:
    body = await held(pieces, limit)
    if isinstance(body, Pieces):
        raise CallError(f"the body is larger than {limit} bytes", status=413, code="too_large")
    return body


async def _inflated(x: Exchange, raw: bytes, limit: int) -> bytes:
    coding = x.headers.pop(b"content-encoding", b"").strip().lower()
    if coding in (b"", b"identity"):
        return raw
    return await asyncio.to_thread(inflate_body, raw, coding.decode("latin-1"), limit)


async def _json(x: Exchange, raw: bytes, document: Any, rules: GuardRules, *, named: bool) -> bytes:
    """Return the body as it may pass."""
    if _chooses(x):
        model = document.get("model") if isinstance(document, dict) else None
        if isinstance(model, str):
            permit_model(x, model)
        elif named:
            _no_model()
    if not _reads(rules):
        return raw
    try:
        if len(raw) > _LARGE:
            said, changed, found = await asyncio.to_thread(_look_through, document, rules)
        else:
            said, changed, found = _look_through(document, rules)
    except RecursionError:
        raise CallError("the body is nested too deeply", code="invalid_json") from None
    if rules.deny and said:
        await deny(x, rules.deny, said)
    _note(x, found)
    return raw if changed is document else msgspec.json.encode(changed)


def _look_through(document: Any, rules: GuardRules) -> tuple[list[str], Any, Counter[str]]:
    """Return the texts of a document, the document with what must not leave taken out, and what that was."""
    said: list[str] = []
    found: Counter[str] = Counter()

    def look(text: str) -> str:
        said.append(text)
        return text if rules.redactor is None else rules.redactor(text, found)

    return said, map_every_text(document, look), found


async def _anything(x: Exchange, body: bytes, rules: GuardRules, *, plain: bool) -> bytes:
    """Return a body of another kind as it may pass: JSON under another name is looked through, the rest flagged."""
    if plain and body.lstrip()[:1] in (b"{", b"["):
        try:
            document = parse(body)
        except CallError:
            pass
        else:
            return await _json(x, body, document, rules, named=False)
    if body:
        _unchecked(x, rules)
    return body


def _unchecked(x: Exchange, rules: GuardRules) -> None:
    if _reads(rules):
        x.guard = [*(x.guard or ()), "unchecked body"]


def _note(x: Exchange, found: Counter[str]) -> None:
    if found:
        x.guard = [*(x.guard or ()), *(f"redacted {kind} {count}" for kind, count in sorted(found.items()))]


def _no_model() -> None:
    raise CallError(
        "the body names no model, and the key may use some models only",
        status=403,
        code="model_not_allowed",
        param="model",
    )
