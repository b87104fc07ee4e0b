"""Prompts as chains of blocks: each block's number stands for everything up to its end, so equal numbers are equal
prefixes. Only prompts that come near a provider's minimum are cut, since shorter ones are never cached there.
"""

from __future__ import annotations

import msgspec
import xxhash

from edgeinf.core.call import Call

__all__ = ["BLOCK_BYTES", "BLOCK_TOKENS", "BYTES_PER_TOKEN", "SHORTEST_BYTES", "chained", "prompt_blocks"]

BYTES_PER_TOKEN = 4  # an estimate, said in the report
BLOCK_TOKENS = 128
BLOCK_BYTES = BLOCK_TOKENS * BYTES_PER_TOKEN
# Three quarters of the smallest common minimum, 1,024 tokens; Opus 5 class models cache from 512 on.
SHORTEST_BYTES = 384 * BYTES_PER_TOKEN
_MOST_BLOCKS = 4_096

_encode = msgspec.json.Encoder().encode


def prompt_blocks(call: Call) -> tuple[int, ...]:
    """Return the numbers of the whole blocks of a prompt, in the order in which providers lay it out."""
    body = call.body
    parts = [_encode(body[field]) for field in ("tools", "system", "instructions") if field in body]
    for field in ("messages", "input", "prompt"):
        value = body.get(field)
        if isinstance(value, list):
            parts += map(_encode, value)
        elif value is not None:
            parts.append(_encode(value))
    data = b"\n".join(parts)
    if len(data) < SHORTEST_BYTES:
        return ()
    number = xxhash.xxh3_64_intdigest(call.model.encode("utf-8", "surrogatepass"))
    found = []
    for start in range(0, min(len(data), _MOST_BLOCKS * BLOCK_BYTES) - BLOCK_BYTES + 1, BLOCK_BYTES):
        number = xxhash.xxh3_64_intdigest(data[start : start + BLOCK_BYTES], seed=number)
        found.append(number)
    return tuple(found)


def chained(ids: list[int], salt: str = "") -> list[int]:
    """Return ids of single blocks as numbers of whole prefixes; ``salt`` keeps ids of different files apart."""
    number = xxhash.xxh3_64_intdigest(salt.encode("utf-8", "surrogatepass"))
    found = []
    for block in ids:
        number = xxhash.xxh3_64_intdigest(block.to_bytes(16, "big", signed=True), seed=number)
        found.append(number)
    return found
