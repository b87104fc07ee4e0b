"""Anthropic messages: ``POST /v1/messages``.

Source: anthropic-sdk-python ``types/message_create_params.py`` and ``types/raw_message_stream_event.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.dialects.anthropic_folding import fold_events, unfold_message
from edgeinf.core.dialects.anthropic_watching import MessagesWatcher, read_usage, unfit_stop
from edgeinf.core.dialects.base import (
    Defaults,
    Rewrite,
    Verdict,
    as_object,
    read_answer,
    require,
    require_messages,
    require_stream,
    str_or_none,
    whole_or_value_error,
)
from edgeinf.core.dialects.hosted import hosted_tools
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["DIALECT"]

_UNKEYED = frozenset({"stream", "metadata", "cache_control"})
_KEYED = frozenset(
    {
        "max_tokens", "messages", "model", "betas", "billing_policy", "compaction", "container", "context_management",
        "diagnostics", "fallback_credit_token", "fallbacks", "inference_geo", "mcp_servers", "output_config",
        "output_format", "service_tier", "speed", "stop_sequences", "system", "temperature", "thinking", "thread",
        "tool_choice", "tools", "top_k", "top_p", "user_profile_id", "workspace_id",
    }
)  # fmt: skip

_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class AnthropicMessages(Defaults):
    """The messages dialect."""

    name = "anthropic-messages"
    family = "anthropic"
    paths = frozenset({"/v1/messages"})
    unkeyed = _UNKEYED
    keyed_fields = _KEYED

    def read(self, path: str, query: str, body: JsonObject) -> Call:
        model = require(body, "model", str, "a text")
        require_messages(body)
        stream = require_stream(body)
        limit = body.get("max_tokens")
        return Call(
            dialect=self.name,
            path=path,
            query=query,
            model=model,
            body=body,
            stream=stream,
            user=str_or_none(as_object(body.get("metadata")).get("user_id")),
            max_output_tokens=limit if isinstance(limit, int) else None,
        )

    def keyed(self, call: Call, rewrite: Rewrite) -> list[JsonObject]:
        body = {field: value for field, value in call.body.items() if field not in _UNKEYED}
        body["messages"] = [_keyed_message(message, rewrite) for message in body["messages"]]
        if "system" in body:
            system = _unmarked(body["system"])
            body["system"] = system if rewrite.identity else rewrite.content("system", system)
        if "tools" in body:
            tools = _unmarked(body["tools"])
            body["tools"] = tools if rewrite.identity else rewrite.tools(tools)
        return [body]

    def bypass(self, call: Call) -> list[str]:
        body = call.body
        reasons = []
        if body.get("container") is not None:
            reasons.append("container")
        if body.get("thread") is not None:
            reasons.append("conversation")
        if body.get("mcp_servers"):
            reasons.append("mcp")
        reasons += hosted_tools(body.get("tools"))
        for message in body["messages"]:
            reasons += _block_reasons(message.get("content"))
        if any(_url_source(message.get("content")) for message in body["messages"]) or _url_source(body.get("system")):
            reasons.append("url-inputs")
        return list(dict.fromkeys(reasons))

    def watch(self, call: Call) -> MessagesWatcher:
        return MessagesWatcher()

    def judge(self, call: Call, body: bytes) -> Verdict:
        document = read_answer(body)
        if isinstance(document, Verdict):
            return document
        document = as_object(document)
        unfit = unfit_stop(document.get("stop_reason"))
        if not isinstance(document.get("content"), list):
            unfit = "no content"
        return Verdict(unfit=unfit, usage=read_usage(document.get("usage")), model=str_or_none(document.get("model")))

    @whole_or_value_error
    def fold(self, events: Sequence[Event]) -> bytes:
        return fold_events(events)

    @whole_or_value_error
    def unfold(self, body: bytes) -> list[Event]:
        return unfold_message(body)

    def error_body(self, error: CallError, request_id: str) -> bytes:
        kind = _ERROR_TYPES.get(error.status, "api_error" if error.status >= 500 else "invalid_request_error")
        message = error.message if error.hint is None else f"{error.message} ({error.hint})"
        document = {
            "type": "error",
            "error": {"type": kind, "message": message, "code": error.code},
            "request_id": request_id,
        }
        return msgspec.json.encode(document)

    def error_events(self, error: CallError, request_id: str, *, started: bool) -> bytes:
        return b"event: error\ndata: %b\n\n" % self.error_body(error, request_id)


def _unmarked(blocks: Any) -> Any:
    """Return blocks without their cache marks, which change the price and not the answer; nested blocks too."""
    if not isinstance(blocks, list):
        return blocks
    unmarked = []
    for block in blocks:
        if isinstance(block, dict):
            block = {k: v for k, v in block.items() if k != "cache_control"} if "cache_control" in block else block
            if isinstance(block.get("content"), list):
                block = {**block, "content": _unmarked(block["content"])}
            source = block.get("source")
            if isinstance(source, dict) and isinstance(source.get("content"), list):
                block = {**block, "source": {**source, "content": _unmarked(source["content"])}}
        unmarked.append(block)
    return unmarked


def _keyed_message(message: JsonObject, rewrite: Rewrite) -> JsonObject:
    content = message.get("content")
    kept = _unmarked(content)
    if not rewrite.identity and message["role"] == "user" and "content" in message:
        kept = rewrite.content("user", kept)
    return {**message, "content": kept} if "content" in message else message


def _block_reasons(blocks: Any) -> list[str]:
    """Return why blocks of a message make the call bypass: files for a container, tools added on the way."""
    reasons = []
    for block in map(as_object, blocks if isinstance(blocks, list) else ()):
        if block.get("type") == "container_upload":
            reasons.append("container")
        elif block.get("type") == "tool_addition":
            tool = as_object(block.get("tool"))
            reasons += hosted_tools([tool.get("definition")])
            reasons += ["mcp"] if "mcp" in str(tool.get("type")) else []
    return reasons


def _url_source(blocks: Any) -> bool:
    if not isinstance(blocks, list):
        return False
    for block in blocks:
        block = as_object(block)
        source = as_object(block.get("source"))
        if source.get("type") == "url" or _url_source(block.get("content")) or _url_source(source.get("content")):
            return True
    return False


DIALECT = AnthropicMessages()
