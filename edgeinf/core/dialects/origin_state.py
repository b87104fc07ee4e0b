"""Names of what an origin's account holds: which a request refers to, and which an answer hands out.

A response, file, container, conversation or spoken answer's id, and encrypted reasoning, mean something to the account
that issued them and to no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

__all__ = ["issued", "referred"]

# Fields whose text (or list of texts, or object with an id) names something the origin holds.
_NAMING = frozenset(
    {
        "previous_response_id", "conversation", "encrypted_content", "container", "container_id", "file_id", "file_ids",
        "vector_store_id", "vector_store_ids", "input_file_id", "batch_id", "encrypted_index",
        "audio",
    }
)  # fmt: skip
# Items of a Responses input that are named by id and kept at the origin.
_REFERENCES = frozenset({"item_reference", "reasoning"})
# What a tool was called with or returned is the user's own data, whatever its fields are called.
_OPAQUE = frozenset({"arguments", "output", "parameters", "input_schema", "schema", "metadata"})
_MARKS = (
    b"previous_response_id", b"conversation", b"encrypted_", b"container", b"file_id", b"vector_store_id",
    b"batch_id", b"item_reference", b'"rs_', b'"audio"',
)  # fmt: skip
_ISSUED = re.compile(rb'"(?:id|encrypted_content|encrypted_index|container_id|file_id)"\s*:\s*"((?:[^"\\]|\\.){4,})"')
_SOME_ISSUED = re.compile(
    rb'"(?:encrypted_content|encrypted_index|container_id|file_id)"\s*:\s*"((?:[^"\\]|\\.){4,})"'
    rb'|"(?:container|audio)"\s*:\s*\{\s*"id"\s*:\s*"([^"\\]{4,})"'
)


def referred(raw: bytes, body: Any) -> set[str]:
    """Return the names of origin-held state that a request refers to. ``raw`` lets most requests be passed over."""
    if not any(mark in raw for mark in _MARKS):
        return set()
    return set(_walk(body))


def issued(answer: bytes, *, every_id: bool) -> set[str]:
    """Return the names that an answer (a document or raw events) hands out; with ``every_id`` plain ids too."""
    if every_id:
        found = [match[1] for match in _ISSUED.finditer(answer)]
    else:
        found = [match[1] or match[2] for match in _SOME_ISSUED.finditer(answer)]
    return {_text(raw) for raw in found}


def _text(raw: bytes) -> str:
    if b"\\" in raw:
        try:
            return str(msgspec.json.decode(b'"%b"' % raw, type=str))
        except msgspec.DecodeError:
            pass
    return raw.decode("utf-8", "replace")


def _walk(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _walk(item)
    elif isinstance(value, dict):
        kind = value.get("type")
        if isinstance(kind, str) and kind in _REFERENCES and isinstance(value.get("id"), str):
            yield value["id"]
        for field, inner in value.items():
            if field in _NAMING:
                yield from _names(inner)
            elif (
                field not in _OPAQUE
                and not (field == "input" and kind == "tool_use")
                and isinstance(inner, dict | list)
            ):
                yield from _walk(inner)


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict) and isinstance(value.get("id"), str):
        yield value["id"]
    elif isinstance(value, list):
        for item in value:
            yield from _names(item)
