"""What OpenAI's APIs share: the error document, usage, inputs by URL."""

from __future__ import annotations

from typing import Any

import msgspec

from edgeinf.core.call import Usage
from edgeinf.core.dialects.base import Rewrite, as_object
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject

__all__ = [
    "UNKEYED",
    "error_body",
    "error_events",
    "error_object",
    "positive_int",
    "read_usage",
    "rewritten",
    "unfit_finish",
    "url_inputs",
]

# Bookkeeping, accounting and the shape of the answer on the wire: none reaches the model.
UNKEYED = frozenset(
    {
        "stream",
        "stream_options",
        "user",
        "metadata",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
    }
)

_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    429: "rate_limit_error",
}


def error_object(error: CallError, request_id: str) -> JsonObject:
    """Return the inner error object."""
    return {
        "message": error.message if error.hint is None else f"{error.message} ({error.hint})",
        "type": _TYPES.get(error.status, "upstream_error" if error.status >= 500 else "invalid_request_error"),
        "param": error.param,
        "code": error.code,
        "request_id": request_id,
    }


def error_body(error: CallError, request_id: str) -> bytes:
    """Return ``{"error": {...}}``."""
    return msgspec.json.encode({"error": error_object(error, request_id)})


def error_events(error: CallError, request_id: str) -> bytes:
    """Return the data event that the SDK raises on; no end marker follows."""
    return b"data: %b\n\n" % error_body(error, request_id)


def read_usage(usage: Any) -> Usage:
    """Read a usage object of chat, completions or embeddings; input includes cached tokens."""
    usage = as_object(usage)
    into = as_object(usage.get("prompt_tokens_details"))
    out = as_object(usage.get("completion_tokens_details"))
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_count(into.get("cached_tokens")),
        cache_write_tokens=_count(into.get("cache_write_tokens")),
        reasoning_tokens=_count(out.get("reasoning_tokens")),
    )


# Why servers say, in an answer of status 200, that they gave a choice up: vLLM and SGLang, Mistral and OpenRouter,
# DeepSeek.
_GIVEN_UP = frozenset({"abort", "error", "insufficient_system_resource"})


def unfit_finish(choice: JsonObject) -> str | None:
    """Return why an answer with a finished choice like this may not be stored."""
    finish = str(choice.get("finish_reason"))
    if choice.get("error"):
        return "error in a choice"
    if finish in _GIVEN_UP:
        return f"given up: {finish}"
    # Some servers add of what kind it was.
    return "content filter" if finish.startswith("content_filter") else None


def url_inputs(parts: Any) -> bool:
    """Return whether message parts name an input by http(s) URL, whose content may change."""
    if not isinstance(parts, list):
        return False
    for part in parts:
        if not isinstance(part, dict) or part.get("type") in ("text", "input_text", "output_text", "refusal"):
            continue
        for value in part.values():
            urls = (value.get("url"), value.get("file_url")) if isinstance(value, dict) else (value,)
            if any(isinstance(url, str) and url[:8].lower().startswith(("http://", "https://")) for url in urls):
                return True
    return False


def positive_int(body: JsonObject, field: str) -> int | None:
    """Return a field that counts something, or None if absent. Raise CallError 400 where it cannot be a count."""
    value = body.get(field)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise CallError(f"{field!r} must be a positive integer", code="invalid_value", param=field)
    return value


def rewritten(message: JsonObject, rewrite: Rewrite) -> JsonObject:
    """Return a message with its natural-language text in normal form; other roles are exact."""
    role = message.get("role")
    if role not in ("system", "developer", "user") or "content" not in message:
        return message
    return {**message, "content": rewrite.content(role, message["content"])}


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
