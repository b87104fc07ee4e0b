"""One request of a log, whatever tool wrote it."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.dialects import for_path
from edgeinf.core.events import EventKeys, EventScope
from edgeinf.core.wire.canonical import JsonObject, parse_object

__all__ = [
    "CHAT",
    "Damaged",
    "NotARequest",
    "Record",
    "answer_text",
    "call_of",
    "parsed",
    "path_for",
    "quick",
    "quotes",
]

CHAT = "/v1/chat/completions"


class Damaged(Exception):
    """A line that should be a record but cannot be read; the text is the reason, the same for equal faults."""


class NotARequest(Exception):
    """A line that is fine but no request to a model (a span of another kind, a header); the text says which."""


class Record(msgspec.Struct, kw_only=True, gc=False):
    """One request. ``at`` is seconds since the epoch (or since the log's start); None is what the log does not say.

    ``request`` is the body as raw JSON or parsed; None where the log has no content. ``input_tokens`` includes what
    came from the provider's cache. ``blocks`` are hashes of the prompt's blocks, for traces that have nothing else.
    """

    at: float | None = None
    tenant: str | None = None
    team: str | None = None
    key_id: str | None = None
    user: str | None = None
    session: str | None = None
    route: str | None = None
    model: str | None = None
    path: str | None = None
    request: bytes | JsonObject | None = None
    answer: Any = None  # raw JSON bytes, a parsed document, or the answer's text
    status: int | None = None
    latency_ms: float | None = None
    ttft_ms: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    usd: float | None = None
    cache: str | None = None  # hit, miss or bypass, where the log was written behind a cache
    blocks: list[int] | None = None
    block_tokens: int = 0
    keys: EventKeys | None = None  # edgeinf's own events carry keys instead of prompts
    scope: EventScope | None = None
    reason: str | None = None  # why an event says the call could not be cached
    trace_id: str | None = None
    id: str | None = None
    line: int = 0


_decode = msgspec.json.Decoder(float_hook=lambda text: _plain(float(text))).decode
_encode = msgspec.json.Encoder().encode


def _plain(value: float) -> float | int:
    if math.isinf(value):
        raise ValueError("too large")
    return int(value) if value.is_integer() else value


def quick(raw: bytes) -> JsonObject | None:
    """Parse a body by a short way, which drops the first of two equal keys; None where only the strict parser has the
    words for what is wrong."""
    try:
        body = _decode(raw)
    except (msgspec.DecodeError, ValueError, OverflowError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def quotes(raw: bytes) -> int:
    """Return how many quotes a body holds; -1 where one may be spelt otherwise. A dropped key takes its own along."""
    return -1 if b"\\" in raw and b"\\u0022" in raw else raw.count(b'"')


def parsed(raw: bytes, body: JsonObject | None = None) -> JsonObject:
    """Return a body as ``canonical.parse_object`` does. ``body`` is what ``quick`` made of it, if that is known: it
    is taken where it is sure to be the same."""
    body = body or quick(raw)
    try:
        if body is not None and _encode(body).count(b'"') == quotes(raw):
            return body
    except (ValueError, OverflowError, RecursionError):
        pass  # the strict parser has the words for what is wrong
    return parse_object(raw)


def path_for(body: JsonObject) -> str:
    """Return the endpoint that a body without one most likely belongs to."""
    if "messages" in body:
        model = body.get("model")
        claude = isinstance(model, str) and "claude" in model and "max_tokens" in body
        messages = body["messages"]
        roles = [m.get("role") for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
        if "system" in body or (claude and "system" not in roles and "developer" not in roles):
            return "/v1/messages"
        return CHAT
    if "documents" in body and "query" in body:
        return "/v1/rerank"
    if "prompt" in body:
        return "/v1/completions"
    if "input" in body:
        model = str(body.get("model", ""))
        return "/v1/embeddings" if "embed" in model or "encoding_format" in body else "/v1/responses"
    return CHAT


def call_of(record: Record, body: JsonObject | None = None) -> Call | None:
    """Return the call of a record, or None where the log has no content or the path is no dialect's.

    ``body`` is the request if it is parsed already. Raise CallError where ``serve`` would refuse it.
    """
    if record.request is None:
        return None
    if body is None:
        body = parsed(record.request) if isinstance(record.request, bytes) else record.request
    path, _, query = (record.path or path_for(body)).partition("?")
    dialect = for_path(path)
    if dialect is None:
        return None
    return dialect.read(path, query, body)


def answer_text(answer: Any) -> str | None:
    """Return what the answer says, whatever shape the log kept it in; None where there is no answer."""
    if isinstance(answer, msgspec.Raw | bytes):
        try:
            answer = msgspec.json.decode(answer)
        except msgspec.DecodeError:
            return None
    if answer is None or isinstance(answer, str):
        return answer
    if isinstance(answer, list):
        texts = [answer_text(item) for item in answer]
        return "".join(t for t in texts if t) if any(t is not None for t in texts) else None
    if not isinstance(answer, dict):
        return None
    if isinstance(answer.get("choices"), list):
        return "\n".join(_choice(choice) for choice in answer["choices"] if isinstance(choice, dict))
    for field in ("content", "text", "output_text", "output", "message", "body", "parts"):
        if answer.get(field) is not None:
            said = answer_text(answer[field])
            calls = answer.get("tool_calls")
            return said if not calls else (said or "") + _tool_calls(calls)
    if answer.get("type") == "tool_use" or "input" in answer:
        return _compact({"name": answer.get("name"), "input": answer.get("input")})
    if answer.get("tool_calls"):
        return _tool_calls(answer["tool_calls"])
    return answer.get("refusal") if isinstance(answer.get("refusal"), str) else None


def _choice(choice: JsonObject) -> str:
    message = choice.get("message")
    if isinstance(message, dict):
        return answer_text(message) or ""
    return str(choice.get("text") or "")


def _tool_calls(calls: Any) -> str:
    said = [c.get("function", c) for c in calls if isinstance(c, dict)] if isinstance(calls, list) else []
    return "".join(_compact({"name": c.get("name"), "arguments": c.get("arguments")}) for c in said)


def _compact(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
