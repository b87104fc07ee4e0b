"""Vectors of embeddings in their two forms on the wire, and their share of what an answer used.

``base64`` holds little-endian 32-bit floats. As JSON each is written with the digits of the 64-bit float of the same
value, which is what clients decode from base64 too.
"""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Sequence
from typing import Any

import msgspec

from edgeinf.core.dialects.base import as_object

__all__ = ["rendered", "shared_out", "width_of"]

_decode_floats = msgspec.json.Decoder(list[float]).decode


def width_of(vector: Any) -> int:
    """Return how many numbers a decoded vector has, in either form; 0 where it is none."""
    if isinstance(vector, list):
        return len(vector)
    if not isinstance(vector, str):
        return 0
    try:
        size = len(base64.b64decode(vector, validate=True))
    except binascii.Error:
        return 0
    return size // 4 if size % 4 == 0 else 0


def rendered(vector: msgspec.Raw, as_base64: bool) -> msgspec.Raw | None:
    """Return a vector in the wanted form, or None where it has that form already or cannot be had in it."""
    raw = bytes(vector).strip()
    try:
        if as_base64 and raw[:1] == b"[":
            floats = _decode_floats(raw)
            packed = struct.pack(f"<{len(floats)}f", *floats)
            return msgspec.Raw(b'"%b"' % base64.b64encode(packed))
        if not as_base64 and raw[:1] == b'"':
            packed = base64.b64decode(msgspec.json.decode(raw), validate=True)
            return msgspec.Raw(msgspec.json.encode(struct.unpack(f"<{len(packed) // 4}f", packed)))
    except (msgspec.DecodeError, binascii.Error, struct.error, OverflowError):
        return None
    return None


def shared_out(usage: Any, weights: Sequence[int]) -> list[dict[str, Any] | None]:
    """Share the token counts of an answer among its parts by weight, so that they add up to what was used."""
    if not isinstance(usage, dict):
        return [None] * len(weights)
    shares: list[dict[str, Any]] = [{} for _ in weights]
    total = sum(weights) or 1
    for field, value in as_object(usage).items():
        if isinstance(value, bool) or not isinstance(value, int):
            for share in shares:
                share[field] = value
            continue
        given = 0
        reached = 0
        for share, weight in zip(shares, weights, strict=True):
            reached += weight
            upto = value * reached // total
            share[field] = upto - given
            given = upto
    return list(shares)
