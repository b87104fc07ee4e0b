"""Rerank, in the shapes of Cohere v1 and v2, Jina, vLLM and text-embeddings-inference.

Sources: docs.cohere.com ``/v2/reference/rerank``; jina.ai/reranker; vLLM ``entrypoints/openai/protocol.py`` (its
``/rerank``, ``/v1/rerank`` and ``/v2/rerank``); text-embeddings-inference's ``/rerank`` with ``texts``. Query and
documents are exact at every level.
"""

from __future__ import annotations

from typing import Any

import msgspec

from edgeinf.core.call import Call, Usage
from edgeinf.core.dialects import openai_common
from edgeinf.core.dialects.base import Defaults, Rewrite, Verdict, as_object, read_answer, require, str_or_none
from edgeinf.core.dialects.openai_common import UNKEYED
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject

__all__ = ["DIALECT"]


class Rerank(Defaults):
    """The rerank dialect."""

    name = "rerank"
    family = "rerank"
    paths = frozenset({"/v1/rerank", "/v2/rerank", "/rerank"})
    unkeyed = UNKEYED
    keyed_fields = frozenset(
        {
            "model", "query", "documents", "texts", "top_n", "return_documents", "rank_fields", "max_chunks_per_doc",
            "max_tokens_per_doc", "priority", "truncation", "truncate", "truncate_prompt_tokens", "raw_scores",
            "return_text",
        }
    )  # fmt: skip

    def read(self, path: str, query: str, body: JsonObject) -> Call:
        documents = _documents(body)
        if not isinstance(documents, list):
            raise CallError("'documents' must be a list", code="invalid_value", param="documents")
        if not isinstance(body.get("query"), str | dict):
            raise CallError("'query' must be a text", code="invalid_value", param="query")
        # text-embeddings-inference serves one model and takes none
        model = body.get("model", "") if "texts" in body else require(body, "model", str, "a text")
        return Call(
            dialect=self.name,
            path=path,
            query=query,
            model=model if isinstance(model, str) else "",
            body=body,
            user=str_or_none(body.get("user")),
            max_output_tokens=0,
        )

    def keyed(self, call: Call, rewrite: Rewrite) -> list[JsonObject]:
        return [{field: value for field, value in call.body.items() if field not in UNKEYED}]

    def bypass(self, call: Call) -> list[str]:
        named = [call.body["query"], *_documents(call.body)]
        return ["url-inputs"] if any(_names_url(item) for item in named) else []

    def deterministic(self, call: Call) -> bool:
        return True

    def judge(self, call: Call, body: bytes) -> Verdict:
        document = read_answer(body)
        if isinstance(document, Verdict):
            return document
        results = document if isinstance(document, list) else as_object(document).get("results")
        document = as_object(document)
        return Verdict(unfit=_unfit(results, call), usage=_usage(document), model=str_or_none(document.get("model")))

    def error_body(self, error: CallError, request_id: str) -> bytes:
        inner = openai_common.error_object(error, request_id)
        # Cohere's clients read message, Jina's detail, vLLM's error
        return msgspec.json.encode(
            {"id": request_id, "message": inner["message"], "detail": inner["message"], "error": inner}
        )

    def error_events(self, error: CallError, request_id: str, *, started: bool) -> bytes:
        return b"data: %b\n\n" % self.error_body(error, request_id)


def _documents(body: JsonObject) -> Any:
    return body.get("texts") if "texts" in body else body.get("documents")


def _names_url(item: Any) -> bool:
    """Return whether a document is an image or the like that is named by URL, rather than a text."""
    return isinstance(item, dict) and any(
        field != "text" and isinstance(value, str) and value[:8].lower().startswith(("http://", "https://"))
        for field, value in item.items()
    )


def _unfit(results: Any, call: Call) -> str | None:
    documents = _documents(call.body)
    if not isinstance(results, list) or (documents and not results):
        return "no results"
    wanted = call.body.get("top_n")
    least = min(wanted, len(documents)) if isinstance(wanted, int) and wanted > 0 else len(documents)
    if "rank_fields" not in call.body and len(results) < least:
        return "fewer results than asked for"
    indices = [as_object(result).get("index") for result in results]
    if len(set(map(str, indices))) != len(indices) or not all(
        isinstance(index, int) and 0 <= index < len(documents) for index in indices
    ):
        return "results do not match the documents"
    return None


def _usage(document: JsonObject) -> Usage:
    """Read what was used: ``usage`` of Jina and vLLM, ``meta.tokens`` or ``meta.billed_units`` of Cohere."""
    usage = as_object(document.get("usage"))
    meta = as_object(document.get("meta"))
    for counts, field in (
        (usage, "prompt_tokens"),
        (usage, "total_tokens"),
        (as_object(meta.get("tokens")), "input_tokens"),
        (as_object(meta.get("billed_units")), "input_tokens"),
    ):
        value = counts.get(field)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return Usage(input_tokens=int(value), output_tokens=0)
    return Usage()


DIALECT = Rerank()
