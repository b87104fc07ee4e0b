"""Ask a region for embeddings, as OpenAI's API has them: ``POST /v1/embeddings`` with a list of texts."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import msgspec

from edgeinf.serve.origin.client import Client, OriginFailure
from edgeinf.serve.origin.region import Origin
from edgeinf.serve.origin.upkeep import fetch, own_headers

__all__ = ["Embedder", "VectorsFailed"]

# What sqlite-vec takes at the most.
_WIDEST = 8192


class VectorsFailed(Exception):
    """There are no vectors: the region did not give them, or they cannot be kept. The message names no credential."""


class _Item(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Item]


class Embedder:
    """One model at one region, with the region's own credential: what is embedded is shared by all clients."""

    def __init__(self, origin: Origin, model: str) -> None:
        self.model = model
        self._origin = origin

    async def embed(self, client: Client, texts: Sequence[str], within_s: float) -> list[bytes]:
        """Return the vector of each text, as 32-bit floats in little-endian order. Raise VectorsFailed."""
        origin = self._origin
        body = msgspec.json.encode({"model": self.model, "input": list(texts), "encoding_format": "float"})
        headers = [(b"content-type", b"application/json"), *own_headers(origin)]
        connect_s = min(origin.timeouts.connect, within_s)
        try:
            status, answer = await fetch(
                client,
                origin.url("/v1/embeddings", ""),
                headers,
                connect_s,
                method="POST",
                body=body,
                patience_s=max(0.0, within_s - connect_s),
                http2=origin.http2,
            )
        except TimeoutError:
            raise VectorsFailed(f"region {origin.name!r} took longer than {within_s:g} s to embed") from None
        except OriginFailure as failure:
            raise VectorsFailed(f"region {origin.name!r}: {failure}") from None
        if status != 200:
            raise VectorsFailed(f"region {origin.name!r} answered {status} when asked to embed with {self.model!r}")
        try:
            return _vectors(answer, len(texts))
        except (msgspec.MsgspecError, ValueError, struct.error, OverflowError):
            raise VectorsFailed(f"region {origin.name!r} answered with what is not {len(texts)} embeddings") from None


def _vectors(answer: bytes, count: int) -> list[bytes]:
    """Return the vectors of an answer in the order of what was asked. Raise ValueError and others where it is none."""
    items = msgspec.json.decode(answer, type=_Answer).data
    if any(item.index is not None for item in items):
        items.sort(key=lambda item: -1 if item.index is None else item.index)
        if [item.index for item in items] != list(range(len(items))):
            raise ValueError("not one for each")
    widths = {len(item.embedding) for item in items}
    if len(items) != count or len(widths) != 1 or not 0 < min(widths) <= _WIDEST:
        raise ValueError("not as many, or not of one width")
    for item in items:
        # A vector without a direction is near to nothing.
        if not any(item.embedding) or not all(map(math.isfinite, item.embedding)):
            raise ValueError("not a direction")
    return [struct.pack(f"<{len(item.embedding)}f", *item.embedding) for item in items]
