"""What a request is to the cache, however it was found out."""

from __future__ import annotations

import msgspec

__all__ = ["NO_CONTENT", "Context", "Meaning"]

NO_CONTENT = "no-content"


class Context(msgspec.Struct, frozen=True, cache_hash=True, gc=False):
    """What enters a key besides body and scope."""

    dialect: str = ""
    path: str = ""
    query: str = ""
    model: str = ""


class Meaning(msgspec.Struct, frozen=True, gc=False):
    """What a request is to the cache. ``keys`` holds, per level, one number per part, or None if unknown."""

    context: Context
    keys: tuple[tuple[int, ...] | None, ...]
    reason: str | None = None
    question: int = 0  # upper half: what is asked, without the volatile; lower half: what surrounds it
    user: str | None = None
    sampled: bool = False
    gates: tuple[int, ...] = ()  # other tools' keys; 0 where they do not cache
    blocks: tuple[int, ...] = ()  # see blocks.py
    prompt_chars: int = 0
    redacted: bool = False
