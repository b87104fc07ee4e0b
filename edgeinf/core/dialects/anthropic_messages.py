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
from edgeinf.core.dialects.base import Rewrite, Verdict, as_object, require, soft_error, str_or_none
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["DIALECT"]

_UNKEYED = frozenset({"stream", "metadata", "cache_control"})
_KEYED = frozenset(
    {
        "max_tokens", "messages", "model", "container", "context_management", "fallbacks", "inference_geo",
        "mcp_servers", "output_config", "output_format", "service_tier", "speed", "stop_sequences", "system",
        "temperature", "thinking", "tool_choice", "tools", "top_k", "top_p", "betas",
    }
)  # fmt: skip

# Tool types that the origin itself runs, by the start of their name, and the reason under which they bypass.
_HOSTED_TOOLS = {
    "web_search": "web-search",
    "web_fetch": "web-fetch",
    "code_execution": "code-execution",
    "computer": "computer-use",
    "mcp": "mcp",
    "tool_search": "tool-search",
    "advisor": "advisor",
}

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


class AnthropicMessages:
    """The messages dialect."""

    name = "anthropic-messages"
    family = "anthropic"
    paths = frozenset({"/v1/messages"})
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
        stream = body.get("stream")
        if stream is not None and not isinstance(stream, bool):
            raise CallError("'stream' must be true or false", code="invalid_value", param="stream")
        limit = body.get("max_tokens")
        return Call(
            dialect=self.name,
            path=path,
            query=query,
            model=model,
            body=body,
            stream=bool(stream),
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
        if body.get("mcp_servers"):
            reasons.append("mcp")
        tools = body.get("tools")
        for tool in tools if isinstance(tools, list) else ():
            kind = as_object(tool).get("type")
            for start, reason in _HOSTED_TOOLS.items():
                if isinstance(kind, str) and kind.startswith(start):
                    reasons.append(reason)
        if any(_url_source(message.get("content")) for message in body["messages"]):
            reasons.append("url-inputs")
        return list(dict.fromkeys(reasons))

    def upstream_body(self, call: Call) -> JsonObject | None:
        return None

    def watch(self, call: Call) -> MessagesWatcher:
        return MessagesWatcher()

    def judge(self, call: Call, body: bytes) -> Verdict:
        try:
            document = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return Verdict(unfit="malformed answer")
        error = soft_error(document)
        if error is not None:
            return Verdict(unfit="error in the answer", error=error)
        document = as_object(document)
        unfit = unfit_stop(document.get("stop_reason"))
        if not isinstance(document.get("content"), list):
            unfit = "no content"
        return Verdict(unfit=unfit, usage=read_usage(document.get("usage")), model=str_or_none(document.get("model")))

    def fold(self, events: Sequence[Event]) -> bytes:
        return fold_events(events)

    def unfold(self, body: bytes) -> list[Event]:
        return unfold_message(body)

    def renders(self, call: Call, chunk: bytes) -> bool:
        return False

    def render_event(self, call: Call, event: Event) -> Event | None:
        return event

    def render_whole(self, call: Call, body: bytes) -> bytes:
        return body

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
    """Return blocks without their cache marks, which change the price and not the answer; nested results too."""
    if not isinstance(blocks, list):
        return blocks
    unmarked = []
    for block in blocks:
        if isinstance(block, dict):
            block = {k: v for k, v in block.items() if k != "cache_control"} if "cache_control" in block else block
            if isinstance(block.get("content"), list):
                block = {**block, "content": _unmarked(block["content"])}
        unmarked.append(block)
    return unmarked


def _keyed_message(message: JsonObject, rewrite: Rewrite) -> JsonObject:
    content = message.get("content")
    kept = _unmarked(content)
    if not rewrite.identity and message["role"] == "user" and "content" in message:
        kept = rewrite.content("user", kept)
    return {**message, "content": kept} if "content" in message else message


def _url_source(blocks: Any) -> bool:
    if not isinstance(blocks, list):
        return False
    for block in blocks:
        block = as_object(block)
        if as_object(block.get("source")).get("type") == "url" or _url_source(block.get("content")):
            return True
    return False


DIALECT = AnthropicMessages()
