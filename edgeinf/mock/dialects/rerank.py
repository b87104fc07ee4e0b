"""Rerank in the shapes of Cohere (v1, v2), Jina and vLLM; also vLLM's pairwise scores."""

from __future__ import annotations

import hashlib
from typing import Any

from edgeinf.mock.dialects.base import Memory, dump, merged, openai_error, whole_plan
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Plan

__all__ = ["answer", "error"]

error = openai_error


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Rank documents; the path and the model's name choose the shape."""
    if ask.path.endswith("/score"):
        return _scores(ask)
    documents = ask.field("documents") or []
    query = ask.field("query", "")
    scored = [(_score(ask.model, query, document), i) for i, document in enumerate(documents)]
    scored.sort(key=lambda pair: (-pair[0], pair[1]))
    top = ask.field("top_n")
    scored = scored[:top] if isinstance(top, int) else scored
    flavour = _flavour(ask)
    shown = ask.field("return_documents", flavour in ("jina", "vllm"))
    results: list[dict[str, Any]] = []
    for score, index in scored if shape.choices else ():
        result: dict[str, Any] = {"index": index, "relevance_score": score}
        if shown:
            document = documents[index]
            result["document"] = document if isinstance(document, dict) else {"text": document}
        results.append(result)
    tokens = max(1, ask.digest_bytes // 4)
    body: dict[str, Any]
    if flavour == "jina":
        body = {"model": ask.model, "usage": {"total_tokens": tokens, "prompt_tokens": tokens}, "results": results}
    elif flavour == "vllm":
        usage = {"total_tokens": tokens}
        body = {"id": f"rerank-{ask.identity}", "model": ask.model, "usage": usage, "results": results}
    else:
        units = {"search_units": 1}
        meta = {"api_version": {"version": flavour[-1]}, "billed_units": units}
        body = {"id": ask.identity, "results": results, "meta": meta}
    return whole_plan(merged(body, shape.extra))


def _flavour(ask: Ask) -> str:
    if ask.model.startswith("jina"):
        return "jina"
    if ask.model.startswith("rerank"):
        return "cohere2" if ask.path.startswith("/v2") else "cohere1"
    return "vllm"


def _score(model: str, query: Any, document: Any) -> float:
    raw = hashlib.blake2b(dump([model, query, document]), digest_size=4).digest()
    return int.from_bytes(raw, "big") / (1 << 32)


def _scores(ask: Ask) -> Plan:
    left, right = ask.field("text_1", ""), ask.field("text_2", "")
    pairs = [(left, item) for item in (right if isinstance(right, list) else [right])]
    data = [{"index": i, "object": "score", "score": _score(ask.model, *pair)} for i, pair in enumerate(pairs)]
    tokens = max(1, ask.digest_bytes // 4)
    body = {"id": f"score-{ask.identity}", "object": "list", "model": ask.model, "data": data}
    return whole_plan({**body, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}})
