"""OpenAI chat completions: ``POST /v1/chat/completions``.

Source: openai-python ``types/chat/completion_create_params.py`` and ``chat_completion_chunk.py``. Vendors add
fields to requests, deltas and chunks; all of them are keyed, kept and replayed.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgeinf.core.call import Call
from edgeinf.core.dialects.base import (
    Rewrite,
    require,
    require_messages,
    require_stream,
    str_or_none,
    whole_or_value_error,
)
from edgeinf.core.dialects.chat_folding import fold_chunks, unfold_message
from edgeinf.core.dialects.chunked import Chunked
from edgeinf.core.dialects.hosted import hosted_tools, live_model, live_search
from edgeinf.core.dialects.openai_common import UNKEYED, positive_int, rewritten, url_inputs
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["DIALECT"]

_KEYED = frozenset(
    {
        "messages", "model", "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs",
        "max_completion_tokens", "max_tokens", "modalities", "moderation", "n", "parallel_tool_calls", "prediction",
        "presence_penalty", "prompt_cache_options", "reasoning_effort", "response_format", "seed", "service_tier",
        "stop", "store", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "verbosity",
        "web_search_options",
    }
)  # fmt: skip


class OpenAIChat(Chunked):
    """The chat completions dialect."""

    name = "openai-chat"
    family = "openai"
    paths = frozenset({"/v1/chat/completions"})
    unkeyed = UNKEYED
    keyed_fields = _KEYED

    def read(self, path: str, query: str, body: JsonObject) -> Call:
        model = require(body, "model", str, "a text")
        require_messages(body)
        n = positive_int(body, "n") or 1
        stream = require_stream(body)
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        return Call(
            dialect=self.name,
            path=path,
            query=query,
            model=model,
            body=body,
            stream=stream,
            choices=n,
            user=str_or_none(body.get("user")) or str_or_none(body.get("safety_identifier")),
            max_output_tokens=limit if isinstance(limit, int) else None,
        )

    def keyed(self, call: Call, rewrite: Rewrite) -> list[JsonObject]:
        body = {field: value for field, value in call.body.items() if field not in UNKEYED}
        if not rewrite.identity:
            body["messages"] = [rewritten(message, rewrite) for message in body["messages"]]
            for field in ("tools", "functions"):
                if field in body:
                    body[field] = rewrite.tools(body[field])
        return [body]

    def bypass(self, call: Call) -> list[str]:
        body = call.body
        reasons = []
        if body.get("store") is True:
            reasons.append("store")
        if live_search(body) or live_model(call.model):
            reasons.append("web-search")
        if body.get("search_parameters") is not None:
            reasons.append("search-parameters")
        if body.get("plugins"):
            reasons.append("plugins")
        reasons += hosted_tools(body.get("tools"))
        if any(url_inputs(message.get("content")) for message in body["messages"]):
            reasons.append("url-inputs")
        return reasons

    @whole_or_value_error
    def fold(self, events: Sequence[Event]) -> bytes:
        return fold_chunks(events)

    @whole_or_value_error
    def unfold(self, body: bytes) -> list[Event]:
        return unfold_message(body)


DIALECT = OpenAIChat()
