"""Which dialect answers a path. A new API is one file and one line here."""

from __future__ import annotations

from typing import cast

from edgeinf.mock.dialects import anthropic_messages, opaque, openai_chat
from edgeinf.mock.dialects.base import Dialect

__all__ = ["DIALECTS", "dialect_of"]

# Paths by their end, so that an origin may live under any prefix (/v1, /openai/v1, none).
DIALECTS: dict[str, object] = {
    "/chat/completions": openai_chat,
    "/messages": anthropic_messages,
}


def dialect_of(path: str) -> type[Dialect]:
    """Return the dialect for a path; what no dialect claims is opaque."""
    for end, dialect in DIALECTS.items():
        if path.endswith(end):
            return cast("type[Dialect]", dialect)
    return cast("type[Dialect]", opaque)
