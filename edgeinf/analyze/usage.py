"""Tokens of a recorded answer, in whichever API family's words it counts them."""

from __future__ import annotations

from typing import Any

from edgeinf.core.call import Usage
from edgeinf.core.dialects.base import as_object

__all__ = ["usage_of"]


def usage_of(answer: Any) -> Usage:
    """Return what an answer's ``usage`` says; input includes what came from, or went into, the provider's cache."""
    usage = as_object(as_object(answer).get("usage"))
    if "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        read, written = _count(usage.get("cache_read_input_tokens")), _count(usage.get("cache_creation_input_tokens"))
        fresh = _count(usage.get("input_tokens"))
        return Usage(
            input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
            output_tokens=_count(usage.get("output_tokens")),
            cached_tokens=read,
            cache_write_tokens=written,
        )
    details = as_object(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens", usage.get("input_tokens"))),
        output_tokens=_count(usage.get("completion_tokens", usage.get("output_tokens"))),
        cached_tokens=_count(details.get("cached_tokens")),
        cache_write_tokens=_count(details.get("cache_write_tokens")),
    )


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
