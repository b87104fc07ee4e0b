"""The list of models in both shapes, with an ETag so that conditional requests can be tried."""

from __future__ import annotations

import hashlib
from typing import Any

from edgeinf.mock.dialects.base import Memory, dump, openai_error
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["answer", "error"]

error = openai_error


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """List the models and the loaded adapters, or show one of them."""
    names = [*memory.models, *memory.adapters]
    of_anthropic = ask.header(b"anthropic-version") is not None
    rows = [_anthropic(name) if of_anthropic else _openai(name, memory) for name in names]
    wanted = ask.path.partition("/models")[2].strip("/")
    if wanted:
        if wanted not in names:
            body = error(404, f"the model {wanted!r} does not exist", "invalid_request_error")
            return Plan(pieces=(Piece(Kind.WHOLE, body),), status=404)
        return _tagged(ask, rows[names.index(wanted)])
    if of_anthropic:
        edges = {"first_id": names[0] if names else None, "last_id": names[-1] if names else None}
        return _tagged(ask, {"data": rows, "has_more": False, **edges})
    return _tagged(ask, {"object": "list", "data": rows})


def _openai(name: str, memory: Memory) -> dict[str, Any]:
    row = {"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "mock"}
    if name in memory.adapters:
        row |= {"root": memory.adapters[name], "parent": memory.models[0] if memory.models else None}
    return row


def _anthropic(name: str) -> dict[str, Any]:
    return {"type": "model", "id": name, "display_name": name.title(), "created_at": "2023-11-14T22:13:20Z"}


def _tagged(ask: Ask, body: dict[str, Any]) -> Plan:
    data = dump(body)
    tag = f'"{hashlib.blake2b(data, digest_size=8).hexdigest()}"'
    unchanged = ask.header(b"if-none-match") == tag
    pieces = () if unchanged else (Piece(Kind.WHOLE, data),)
    return Plan(pieces=pieces, status=304 if unchanged else 200, headers=[("etag", tag)])
