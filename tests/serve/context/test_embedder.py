"""A region asked for embeddings, and every answer that is none."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from edgeinf.core.config.scalar import Secret
from edgeinf.core.config.schema import Region
from edgeinf.mock import MockOrigin
from edgeinf.mock.dialects.openai_embeddings import vector
from edgeinf.serve.context.embedder import Embedder, VectorsFailed
from edgeinf.serve.origin.pool import Connections
from edgeinf.serve.origin.region import make_origin
from tests.serve.context.meaning import embeddings


async def ask(url: str, texts: list[str], within_s: float = 20.0, **region: Any) -> list[bytes]:
    """Have a region embed texts."""
    client = Connections()
    try:
        embedder = Embedder(make_origin(Region(name="here", url=url, **region)), "e")
        return await embedder.embed(client, texts, within_s)
    finally:
        await client.aclose()


async def test_each_text_has_its_vector_with_the_regions_own_credential(origin: MockOrigin) -> None:
    got = await ask(origin.url, ["a", "b"], api_key=Secret("of-the-region"))
    assert got == [struct.pack("<8f", *vector("e", text, 8)) for text in ("a", "b")]
    [call] = origin.calls
    assert call.json == {"model": "e", "input": ["a", "b"], "encoding_format": "float"}
    assert dict(call.headers)["authorization"] == "Bearer of-the-region"


async def test_the_index_decides_not_the_order(origin: MockOrigin) -> None:
    data = [{"index": 1, "embedding": [0, 1]}, {"index": 0, "embedding": [1, 0]}]
    origin.use({"answer": {"raw": [json.dumps({"data": data})]}})
    assert await ask(origin.url, ["a", "b"]) == [struct.pack("<2f", 1, 0), struct.pack("<2f", 0, 1)]


ANSWERS = {
    "no-json": "so sorry",
    "no-list": "{}",
    "too-few": embeddings([1.0]),
    "too-many": embeddings([1.0], [1.0], [1.0]),
    "widths": embeddings([1.0], [1.0, 2.0]),
    "empty": embeddings([], []),
    "zero": embeddings([0.0, 0.0], [1.0, 0.0]),
    "beyond-32-bits": embeddings([1e39], [1.0]),
    "null": '{"data": [{"embedding": null}, {"embedding": [1]}]}',
    "twice": '{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}',
    "some-unnumbered": '{"data": [{"index": 1, "embedding": [1]}, {"embedding": [1]}]}',
    "too-wide": embeddings([1.0] * 8193, [1.0] * 8193),
}


@pytest.mark.parametrize("raw", ANSWERS.values(), ids=ANSWERS)
async def test_what_is_no_embedding_is_refused(origin: MockOrigin, raw: str) -> None:
    origin.use({"answer": {"raw": [raw]}})
    with pytest.raises(VectorsFailed, match="what is not 2 embeddings"):
        await ask(origin.url, ["a", "b"])


async def test_a_refusal_says_which_and_never_the_credential(origin: MockOrigin) -> None:
    origin.use({"api_key": "another"})
    with pytest.raises(VectorsFailed) as caught:
        await ask(origin.url, ["a"], api_key=Secret("of-the-region"))
    assert str(caught.value) == "region 'here' answered 401 when asked to embed with 'e'"


async def test_a_region_that_is_not_there_or_too_slow(origin: MockOrigin) -> None:
    with pytest.raises(VectorsFailed, match="region 'here': "):
        await ask("http://127.0.0.1:9", ["a"])
    origin.use({"headers_delay": "30s"})
    with pytest.raises(VectorsFailed, match=r"longer than 0\.2 s"):
        await ask(origin.url, ["a"], within_s=0.2)
