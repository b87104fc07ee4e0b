from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinf.core.dialects import by_name, for_path
from edgeinf.core.errors import CallError
from edgeinf.core.normalize.levels import LEVELS
from tests.core.dialects.kit import call, reasons

API = by_name("rerank")
BODY: dict[str, Any] = {"model": "m", "query": "q", "documents": ["a", "b", "c"]}
TEI: dict[str, Any] = {"query": "q", "texts": ["a", "b"]}


@pytest.mark.parametrize("path", ["/v1/rerank", "/v2/rerank", "/rerank"])
def test_all_paths_are_claimed_and_keyed_apart(path: str) -> None:
    assert for_path(path) is API
    assert call("rerank", BODY, path).path == path


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({**BODY, "model": None}, "model"),
        ({"query": "q", "documents": ["a"]}, "model"),
        ({**BODY, "documents": "a"}, "documents"),
        ({"model": "m", "query": "q"}, "documents"),
        ({**BODY, "query": 5}, "query"),
        ({"model": "m", "documents": []}, "query"),
    ],
)
def test_what_is_no_call_is_refused_by_field(body: dict[str, Any], param: str) -> None:
    with pytest.raises(CallError) as caught:
        call("rerank", body)
    assert caught.value.param == param


def test_a_server_of_one_model_takes_none() -> None:
    assert call("rerank", TEI, "/rerank").model == ""


@pytest.mark.parametrize(
    "other",
    [
        {"query": "Q"},
        {"query": "q "},
        {"documents": ["b", "a", "c"]},
        {"documents": ["a", "b", "c "]},
        {"top_n": 1},
        {"return_documents": True},
    ],
)
def test_query_and_documents_are_exact(other: dict[str, Any]) -> None:
    for level in LEVELS.values():
        assert API.keyed(call("rerank", {**BODY, **other}), level) != API.keyed(call("rerank", BODY), level)


def results(*indices: Any) -> dict[str, Any]:
    """Return an answer with these indices."""
    return {"results": [{"index": index, "relevance_score": 0.5} for index in indices]}


@pytest.mark.parametrize(
    ("more", "document", "unfit"),
    [
        ({}, results(2, 0, 1), None),
        ({"top_n": 2}, results(2, 0), None),
        ({"top_n": 9}, results(2, 0, 1), None),
        ({}, results(2, 0), "fewer results than asked for"),
        ({}, results(), "no results"),
        ({}, {}, "no results"),
        ({}, results(0, 0, 1), "results do not match the documents"),
        ({}, results(0, 1, 3), "results do not match the documents"),
        ({}, results(0, 1, None), "results do not match the documents"),
        ({}, {"error": "x", **results(0, 1, 2)}, "error in the answer"),
        ({"documents": []}, results(), None),
    ],
)
def test_only_a_whole_answer_may_be_kept(more: dict[str, Any], document: Any, unfit: str | None) -> None:
    assert API.judge(call("rerank", {**BODY, **more}), json.dumps(document).encode()).unfit == unfit


def test_a_bare_list_is_an_answer_and_half_of_one_is_not() -> None:
    asked = call("rerank", TEI, "/rerank")
    assert API.judge(asked, b'[{"index":1,"score":0.9},{"index":0,"score":0.1}]').unfit is None
    assert API.judge(asked, b'[{"index":1').unfit == "malformed answer"


@pytest.mark.parametrize(
    ("more", "tokens"),
    [
        ({"usage": {"total_tokens": 9}}, 9),
        ({"usage": {"prompt_tokens": 8, "total_tokens": 9}}, 8),
        ({"meta": {"tokens": {"input_tokens": 7.0}}}, 7),
        ({"meta": {"billed_units": {"search_units": 1}}}, None),
        ({}, None),
    ],
    ids=["jina", "vllm", "cohere", "search units", "none"],
)
def test_usage_is_read_in_every_shape(more: dict[str, Any], tokens: int | None) -> None:
    verdict = API.judge(call("rerank", BODY), json.dumps({**results(0, 1, 2), **more}).encode())
    assert verdict.usage.input_tokens == tokens


def test_documents_by_url_bypass_and_texts_that_are_urls_do_not() -> None:
    assert reasons("rerank", {**BODY, "documents": [{"image": "https://x.io/a.png"}]}) == ["url-inputs"]
    assert reasons("rerank", {**BODY, "documents": ["https://x.io", {"text": "https://x.io"}]}) == []


def test_errors_are_read_by_every_client() -> None:
    body = json.loads(API.error_body(CallError("no", status=429), "req-1"))
    assert (body["message"], body["detail"], body["error"]["message"]) == ("no", "no", "no")
    assert API.error_events(CallError("no"), "req-1", started=False).startswith(b"data: {")
