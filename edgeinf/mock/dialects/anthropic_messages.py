"""Anthropic messages, as a stream and as a whole."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import msgspec

from edgeinf.mock.content import Content, content_of, group, input_tokens
from edgeinf.mock.dialects.base import Memory, dump, event, merged, sse_plan, whole_plan
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["answer", "error"]

_STOP = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}
_ERROR = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def error(status: int, message: str, kind: str, *, in_stream: bool = False, number: int = 0) -> bytes:
    """Render an error; inside a stream as the event ``error``."""
    name = kind if kind.endswith("_error") and kind != "server_error" else _ERROR.get(status, "api_error")
    body = {"type": "error", "error": {"type": name, "message": message}}
    return event("error", body) if in_stream else dump({**body, "request_id": "req_mock"})


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Answer a message, or count its tokens."""
    if ask.path.endswith("/count_tokens"):
        return whole_plan({"input_tokens": input_tokens(ask, shape)})
    content = content_of(ask, shape)
    if content.refusal:
        content.text, content.refusal, content.finish = content.refusal, [], shape.finish or "refusal"
    stop = _STOP.get(content.finish, content.finish)
    if ask.stream:
        return sse_plan(_stream(ask, shape, content, stop))
    body = {
        "id": f"msg_{ask.identity}",
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": [{**block, **whole} for block, whole, _ in _blocks(ask, shape, content)] if shape.choices else [],
        "stop_reason": None if shape.finish_only == () else stop,
        "stop_sequence": None,
        "usage": _usage(ask, shape, content.output_tokens),
    }
    if shape.usage == "none":
        del body["usage"]
    return whole_plan(merged(body, shape.extra), tokens=content.output_tokens)


def _usage(ask: Ask, shape: Shape, output: int) -> dict[str, Any]:
    return {
        "input_tokens": input_tokens(ask, shape),
        "cache_creation_input_tokens": shape.cache_write_tokens,
        "cache_read_input_tokens": shape.cached_tokens,
        "output_tokens": output,
        "service_tier": "standard",
    }


_Deltas = list[tuple[dict[str, Any], int]]


def _blocks(ask: Ask, shape: Shape, content: Content) -> Iterator[tuple[dict[str, Any], dict[str, Any], _Deltas]]:
    """Yield (block as it starts, what the whole block has beyond that, its deltas with their tokens)."""
    for given in shape.blocks:
        yield dict(given), {}, []
    if content.reasoning:
        signature = base64.b64encode(ask.digest.to_bytes(8, "big") * 6 + b"\xff\xfe").decode()
        deltas: _Deltas = [
            ({"type": "thinking_delta", "thinking": text}, tokens) for text, tokens in group(content.reasoning, shape)
        ]
        deltas.append(({"type": "signature_delta", "signature": signature}, 0))
        thinking = {"thinking": "".join(content.reasoning), "signature": signature}
        yield {"type": "thinking", "thinking": "", "signature": ""}, thinking, deltas
    if content.text or not content.tools:
        deltas = [({"type": "text_delta", "text": text}, tokens) for text, tokens in group(content.text, shape)]
        whole: dict[str, Any] = {"text": "".join(content.text)}
        if shape.annotations:
            whole["citations"] = list(shape.annotations)
            deltas += [({"type": "citations_delta", "citation": c}, 0) for c in shape.annotations]
        yield {"type": "text", "text": ""}, whole, deltas
    for position, tool in enumerate(content.tools):
        deltas = [({"type": "input_json_delta", "partial_json": ""}, 0)]
        deltas += [({"type": "input_json_delta", "partial_json": part}, 1) for part in tool.arguments]
        given = msgspec.json.decode("".join(tool.arguments) or "{}")
        begun = {"type": "tool_use", "id": f"toolu_{ask.digest:016x}{position}", "name": tool.name, "input": {}}
        yield begun, {"input": given}, deltas


def _stream(ask: Ask, shape: Shape, content: Content, stop: str) -> Iterator[Piece]:
    message: dict[str, Any] = {
        "id": f"msg_{ask.identity}",
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": _usage(ask, shape, 1),
    }
    if shape.usage == "none":
        del message["usage"]
    if shape.role_chunk:
        started = {"type": "message_start", "message": merged(message, shape.extra)}
        yield Piece(Kind.OPEN, event("message_start", started))
    sent = 0
    ping = Piece(Kind.SIDE, event("ping", {"type": "ping"})).data
    if shape.choices:
        for index, (block, _, deltas) in enumerate(_blocks(ask, shape, content)):
            start = {"type": "content_block_start", "index": index, "content_block": block}
            yield Piece(Kind.OPEN, event("content_block_start", start))
            if shape.pings and index == 0:
                yield Piece(Kind.SIDE, ping)
            for delta, tokens in deltas:
                body = {"type": "content_block_delta", "index": index, "delta": delta}
                yield Piece(Kind.TOKEN if tokens else Kind.SIDE, event("content_block_delta", body), tokens)
                sent += tokens
                if shape.pings > 1 and tokens and sent % shape.pings == 0:
                    yield Piece(Kind.SIDE, ping)
            stopped = {"type": "content_block_stop", "index": index}
            yield Piece(Kind.MARK, event("content_block_stop", stopped))
    if shape.finish_only != ():
        body = {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}}
        if shape.usage != "none":
            body["usage"] = _usage(ask, shape, content.output_tokens)
        if shape.usage == "every":
            half = {**body, "delta": {"stop_reason": None, "stop_sequence": None}}
            half["usage"] = _usage(ask, shape, content.output_tokens // 2)
            yield Piece(Kind.USAGE, event("message_delta", half))
        yield Piece(Kind.MARK, event("message_delta", body))
    if shape.end_marker:
        yield Piece(Kind.END, event("message_stop", {"type": "message_stop"}))
