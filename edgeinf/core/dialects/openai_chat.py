"""OpenAI chat completions: ``POST /v1/chat/completions``.

Source: openai-python ``types/chat/completion_create_params.py`` and ``chat_completion_chunk.py``. Vendors add
fields to requests, deltas and chunks; all of them are keyed, kept and replayed.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.dialects import openai_common
from edgeinf.core.dialects.base import Rewrite, Verdict, as_object, require, soft_error, str_or_none
from edgeinf.core.dialects.chat_folding import fold_chunks, unfold_message
from edgeinf.core.dialects.chat_watching import ChatWatcher
from edgeinf.core.dialects.openai_common import read_usage, url_inputs
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import DONE, Event

__all__ = ["DIALECT"]

_UNKEYED = frozenset(
    {
        "stream",
        "stream_options",
        "user",
        "metadata",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
    }
)
_KEYED = frozenset(
    {
        "messages", "model", "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs",
        "max_completion_tokens", "max_tokens", "modalities", "moderation", "n", "parallel_tool_calls", "prediction",
        "presence_penalty", "prompt_cache_options", "reasoning_effort", "response_format", "seed", "service_tier",
        "stop", "store", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "verbosity",
        "web_search_options",
    }
)  # fmt: skip


class OpenAIChat:
    """The chat completions dialect."""

    name = "openai-chat"
    family = "openai"
    paths = frozenset({"/v1/chat/completions"})
    unkeyed = _UNKEYED
    keyed_fields = _KEYED

    def read(self, path: str, query: str, body: JsonObject) -> Call:
        model = require(body, "model", str, "a text")
        messages = require(body, "messages", list, "a list")
        for number, message in enumerate(messages):
            if not isinstance(message, dict) or not isinstance(message.get("role"), str):
                raise CallError(
                    f"messages[{number}] must be an object with a role",
                    code="invalid_value",
                    param="messages",
                )
        n = body.get("n")
        if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 1):
            raise CallError("'n' must be a positive integer", code="invalid_value", param="n")
        stream = body.get("stream")
        if stream is not None and not isinstance(stream, bool):
            raise CallError("'stream' must be true or false", code="invalid_value", param="stream")
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        return Call(
            dialect=self.name,
            path=path,
            query=query,
            model=model,
            body=body,
            stream=bool(stream),
            choices=n or 1,
            user=str_or_none(body.get("user")) or str_or_none(body.get("safety_identifier")),
            max_output_tokens=limit if isinstance(limit, int) else None,
        )

    def keyed(self, call: Call, rewrite: Rewrite) -> list[JsonObject]:
        body = {field: value for field, value in call.body.items() if field not in _UNKEYED}
        if not rewrite.identity:
            body["messages"] = [_rewritten(message, rewrite) for message in body["messages"]]
            if "tools" in body:
                body["tools"] = rewrite.tools(body["tools"])
        return [body]

    def bypass(self, call: Call) -> list[str]:
        body = call.body
        reasons = []
        if body.get("store") is True:
            reasons.append("store")
        if "web_search_options" in body or call.model.endswith(":online") or "-search-preview" in call.model:
            reasons.append("web-search")
        if body.get("search_parameters") is not None:
            reasons.append("search-parameters")
        if body.get("plugins"):
            reasons.append("plugins")
        if any(url_inputs(message.get("content")) for message in body["messages"]):
            reasons.append("url-inputs")
        return reasons

    def upstream_body(self, call: Call) -> JsonObject | None:
        options = call.body.get("stream_options")
        if not call.stream or as_object(options).get("include_usage") is True:
            return None
        return {**call.body, "stream_options": {**as_object(options), "include_usage": True}}

    def watch(self, call: Call) -> ChatWatcher:
        return ChatWatcher(call.choices)

    def judge(self, call: Call, body: bytes) -> Verdict:
        try:
            document = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return Verdict(unfit="malformed answer")
        error = soft_error(document)
        if error is not None:
            return Verdict(unfit="error in the answer", error=error)
        document = as_object(document)
        choices = [choice for choice in document.get("choices") or () if isinstance(choice, dict)]
        finishes = [choice.get("finish_reason") for choice in choices]
        unfit = None
        if not choices:
            unfit = "no choices"
        elif len(choices) < call.choices or not all(finishes):
            unfit = "not every choice finished"
        elif "content_filter" in finishes:
            unfit = "content filter"
        return Verdict(unfit=unfit, usage=read_usage(document.get("usage")), model=str_or_none(document.get("model")))

    def fold(self, events: Sequence[Event]) -> bytes:
        return fold_chunks(events)

    def unfold(self, body: bytes) -> list[Event]:
        return unfold_message(body)

    def renders(self, call: Call, chunk: bytes) -> bool:
        return b'"obfuscation"' in chunk or (b'"usage"' in chunk and not _wants_usage(call))

    def render_event(self, call: Call, event: Event) -> Event | None:
        if not self.renders(call, event.data) or event.data.startswith(DONE):
            return event
        try:
            chunk = msgspec.json.decode(event.data)
        except msgspec.DecodeError:
            return event
        if not isinstance(chunk, dict):
            return event
        changed = chunk.pop("obfuscation", None) is not None
        if not _wants_usage(call) and "usage" in chunk and not chunk.get("error"):
            chunk.pop("usage")
            changed = True
            if not chunk.get("choices"):
                return None
        return Event(event.name, msgspec.json.encode(chunk)) if changed else event

    def render_whole(self, call: Call, body: bytes) -> bytes:
        return body

    def error_body(self, error: CallError, request_id: str) -> bytes:
        return openai_common.error_body(error, request_id)

    def error_events(self, error: CallError, request_id: str, *, started: bool) -> bytes:
        return openai_common.error_events(error, request_id)


def _wants_usage(call: Call) -> bool:
    return as_object(call.body.get("stream_options")).get("include_usage") is True


def _rewritten(message: JsonObject, rewrite: Rewrite) -> JsonObject:
    role = message["role"]
    if role not in ("system", "developer", "user") or "content" not in message:
        return message
    return {**message, "content": rewrite.content(role, message["content"])}


DIALECT = OpenAIChat()
