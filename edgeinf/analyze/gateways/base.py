"""What is said of another tool's key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.wire.canonical import JsonObject

__all__ = ["DATED", "Gateway", "last_text"]

DATED = "2026-11"  # when the keys were read in the tools' sources and manuals


class Gateway(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's key: ``material`` gives the bytes it hashes, or None where the tool does not cache the call.

    It gets the body's text as the log has it and the call. ``scope`` says whether callers with different credentials
    share; ``note`` what the key merges wrongly or splits needlessly.
    """

    name: str
    scope: Literal["key", "shared"]
    note: str
    material: Callable[[bytes, Call], bytes | None]
    dated: str = DATED


def last_text(body: JsonObject) -> str:
    """Return the text of the last message."""
    messages = body.get("messages")
    content: Any = messages[-1].get("content") if isinstance(messages, list) and messages else body.get("input", "")
    if isinstance(content, list):
        return "".join(str(p.get("text", "")) for p in content if isinstance(p, dict))
    return content if isinstance(content, str) else ""
