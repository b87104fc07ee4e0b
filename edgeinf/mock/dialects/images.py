"""Images as base64, or as an address where the request asks for one."""

from __future__ import annotations

import base64
import hashlib

from edgeinf.mock.dialects.base import Memory, openai_error, whole_plan
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Plan

__all__ = ["answer", "error"]

error = openai_error


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Draw ``n`` images, which are not pictures but bytes made from the request."""
    asked = ask.field("n")
    n = asked if isinstance(asked, int) else 1
    seeds = [ask.digest.to_bytes(8, "big") + bytes([index]) for index in range(n)]
    if ask.field("response_format") == "url":
        data = [{"url": f"https://images.invalid/{seed.hex()}.png"} for seed in seeds]
    else:
        pictures = [b"\x89PNG\r\n\x1a\n" + hashlib.shake_128(seed).digest(shape.bytes) for seed in seeds]
        data = [{"b64_json": base64.b64encode(picture).decode()} for picture in pictures]
    tokens = {"input_tokens": max(1, ask.digest_bytes // 4), "output_tokens": 272 * n}
    usage = {**tokens, "total_tokens": sum(tokens.values())}
    return whole_plan({"created": ask.created, "data": data if shape.choices else [], "usage": usage})
