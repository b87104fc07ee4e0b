"""Embeddings."""

from __future__ import annotations

import base64
import struct
from typing import Any

import pytest

from edgeinf.mock import MockOrigin
from edgeinf.mock.dialects.openai_embeddings import vector
from tests.mock.http_client import ask

PATH = "/v1/embeddings"


async def vectors(origin: MockOrigin, given: Any, **more: Any) -> list[Any]:
    body = (await ask(origin, PATH, {"model": "e", "input": given, **more})).json
    assert [row["index"] for row in body["data"]] == list(range(len(body["data"])))
    return [row["embedding"] for row in body["data"]]


async def test_a_vector_depends_on_its_own_input_only(origin: MockOrigin) -> None:
    a, b = await vectors(origin, ["a", "b"])

    assert await vectors(origin, ["b", "c", "a"]) == [b, vector("e", "c", 8), a]
    assert await vectors(origin, "a") == [a]
    assert a != b


async def test_base64_holds_the_same_numbers(origin: MockOrigin) -> None:
    [floats] = await vectors(origin, "a", dimensions=16)
    [packed] = await vectors(origin, "a", dimensions=16, encoding_format="base64")

    assert list(struct.unpack("<16f", base64.b64decode(packed))) == floats


@pytest.mark.parametrize("dimensions", [-1, 0, False, "x", None])
async def test_what_is_no_width_is_passed_over(origin: MockOrigin, dimensions: Any) -> None:
    assert await vectors(origin, "a", dimensions=dimensions) == [vector("e", "a", 8)]


@pytest.mark.parametrize(("given", "count"), [([1, 2, 3], 1), ([[1, 2], [3]], 2), ([], 1)])
async def test_token_arrays_are_inputs(origin: MockOrigin, given: Any, count: int) -> None:
    assert len(await vectors(origin, given)) == count


async def test_models_differ_and_fewer_dimensions_are_a_prefix(origin: MockOrigin) -> None:
    assert vector("e", "a", 4) == vector("e", "a", 8)[:4]
    assert vector("e", "a", 4) != vector("f", "a", 4)
    origin.use({"answer": {"dimensions": 5}})
    assert len((await vectors(origin, "a"))[0]) == 5


async def test_usage_adds_up_the_inputs(origin: MockOrigin) -> None:
    body = (await ask(origin, PATH, {"model": "e", "input": ["abcdefgh", [1, 2, 3]]})).json

    assert body["usage"] == {"prompt_tokens": 5, "total_tokens": 5}
