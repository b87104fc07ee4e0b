"""Embeddings: each vector depends on the model and its own input only, as floats or base64."""

from __future__ import annotations

import base64
import hashlib
import struct
from typing import Any

from edgeinf.mock.dialects.base import Memory, dump, merged, openai_error, whole_plan
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Plan

__all__ = ["answer", "error", "vector"]

error = openai_error


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Answer an embeddings request: one text, several, one token array or several."""
    given = ask.field("input", "")
    several = isinstance(given, list) and bool(given) and not isinstance(given[0], int)
    inputs = given if several else [given]
    asked = ask.field("dimensions")
    width = asked if isinstance(asked, int) and asked > 0 else shape.dimensions
    packed = ask.field("encoding_format") == "base64"
    data = []
    for index, item in enumerate(inputs if shape.choices else ()):
        floats = vector(ask.model, item, width)
        shown: Any = base64.b64encode(struct.pack(f"<{width}f", *floats)).decode() if packed else floats
        data.append({"object": "embedding", "index": index, "embedding": shown})
    tokens = shape.input_tokens
    if tokens is None:
        tokens = sum(len(i) if isinstance(i, list) else max(1, len(str(i)) // 4) for i in inputs)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    body: dict[str, Any] = {"object": "list", "data": data, "model": ask.model}
    if shape.usage != "none":
        body["usage"] = usage
    return whole_plan(merged(body, shape.extra))


def vector(model: str, item: Any, width: int) -> list[float]:
    """Return the vector of one input; fewer dimensions are a prefix. Values are exact in 32 bits."""
    raw = hashlib.shake_128(model.encode() + b"\0" + dump(item)).digest(2 * width)
    return [value / 32768 for value in struct.unpack(f"<{width}h", raw)]
