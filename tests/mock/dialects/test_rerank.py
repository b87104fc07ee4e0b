"""Rerank in four shapes."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask

DOCUMENTS = ["one", "two", "three", "four"]


async def ranked(origin: MockOrigin, path: str, model: str, **more: Any) -> Any:
    body = {"model": model, "query": "q", "documents": DOCUMENTS, **more}
    return (await ask(origin, path, body)).json


@pytest.mark.parametrize(
    ("path", "model", "fields", "shows_documents"),
    [
        ("/v1/rerank", "rerank-v3.5", {"id", "results", "meta"}, False),
        ("/v2/rerank", "rerank-v3.5", {"id", "results", "meta"}, False),
        ("/v1/rerank", "jina-reranker-v2", {"model", "usage", "results"}, True),
        ("/v1/rerank", "BAAI/bge-reranker", {"id", "model", "usage", "results"}, True),
    ],
    ids=["cohere1", "cohere2", "jina", "vllm"],
)
async def test_each_shape_has_its_fields_and_sorts_by_score(
    origin: MockOrigin, path: str, model: str, fields: set[str], shows_documents: bool
) -> None:
    body = await ranked(origin, path, model)

    assert set(body) == fields
    scores = [row["relevance_score"] for row in body["results"]]
    assert scores == sorted(scores, reverse=True)
    assert {row["index"] for row in body["results"]} == {0, 1, 2, 3}
    for row in body["results"]:
        assert row.get("document") == ({"text": DOCUMENTS[row["index"]]} if shows_documents else None)


async def test_the_version_is_in_coheres_meta(origin: MockOrigin) -> None:
    versions = [
        (await ranked(origin, path, "rerank-x"))["meta"]["api_version"]["version"]
        for path in ("/v1/rerank", "/v2/rerank")
    ]
    assert versions == ["1", "2"]


async def test_fewer_results_and_documents_on_request(origin: MockOrigin) -> None:
    body = await ranked(origin, "/v1/rerank", "rerank-x", top_n=2, return_documents=True)

    assert len(body["results"]) == 2
    assert all("document" in row for row in body["results"])


async def test_a_score_depends_on_query_and_document_only(origin: MockOrigin) -> None:
    every = {row["index"]: row["relevance_score"] for row in (await ranked(origin, "/v1/rerank", "m"))["results"]}
    one = (await ask(origin, "/rerank", {"model": "m", "query": "q", "documents": ["three"]})).json

    assert one["results"][0]["relevance_score"] == every[2]


async def test_pairs_are_scored(origin: MockOrigin) -> None:
    body = (await ask(origin, "/score", {"model": "m", "text_1": "a", "text_2": ["b", "c"]})).json

    assert [row["index"] for row in body["data"]] == [0, 1]
