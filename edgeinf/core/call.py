"""The neutral values that everything speaks: a call, its answer, what was used."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["Answer", "Call", "Usage"]


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One request, as its dialect read it. ``body`` is the parsed JSON and must not be changed in place."""

    dialect: str
    path: str
    model: str
    body: dict[str, Any]
    query: str = ""
    stream: bool = False
    choices: int = 1  # independent answers asked for: n, times the prompts where a dialect takes several
    user: str | None = None  # the end user, as the body names them
    max_output_tokens: int | None = None


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one answer; ``None`` where the origin did not say. Input includes what came from its cache."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer as the origin sent it: ``body`` holds raw events if ``stream``, else one JSON document."""

    body: bytes
    stream: bool
    status: int = 200
    content_type: str = "application/json"
    model: str | None = None
    usage: Usage = Usage()
