"""What LiteLLM's two log formats have in common."""

from __future__ import annotations

from typing import Any

from edgeinf.analyze.readers.base import milliseconds
from edgeinf.analyze.record import CHAT
from edgeinf.analyze.times import seconds_between

__all__ = ["PATHS", "cache_word", "ttft_ms"]

# call_type -> endpoint; what is not here is chat.
PATHS = {
    "completion": CHAT,
    "acompletion": CHAT,
    "text_completion": "/v1/completions",
    "atext_completion": "/v1/completions",
    "embedding": "/v1/embeddings",
    "aembedding": "/v1/embeddings",
    "responses": "/v1/responses",
    "aresponses": "/v1/responses",
    "anthropic_messages": "/v1/messages",
}


def ttft_ms(row: dict[str, Any]) -> float | None:
    """Return the time to the first token of a stream: an answer that came whole says its end instead."""
    found = seconds_between(row.get("startTime"), row.get("completionStartTime"))
    whole = seconds_between(row.get("startTime"), row.get("endTime"))
    return None if found is None or found == whole else milliseconds(found)


def cache_word(hit: Any) -> str | None:
    """Return hit or miss from ``cache_hit``, which is a boolean in one format and a text in the other."""
    return {"true": "hit", "false": "miss"}.get(str(hit).lower())
