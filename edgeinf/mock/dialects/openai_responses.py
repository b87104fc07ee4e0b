"""OpenAI Responses: streams with numbered events, whole answers, and what is stored under an id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgeinf.mock.content import Content, content_of, input_tokens
from edgeinf.mock.dialects.base import Memory, dump, event, merged, openai_error, sse_plan, whole_plan
from edgeinf.mock.dialects.responses_items import Item, items_of
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["answer", "error"]

_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
_ECHOED: dict[str, Any] = {
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "reasoning": {"effort": None, "summary": None},
    "safety_identifier": None,
    "service_tier": "default",
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


def error(status: int, message: str, kind: str, *, in_stream: bool = False, number: int = 0) -> bytes:
    """Render an error; inside a stream flat, as the event ``error``."""
    if not in_stream:
        return openai_error(status, message, kind)
    body = {"type": "error", "code": kind, "message": message, "param": None, "sequence_number": number}
    return event("error", body)


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Answer what is asked under ``/responses``."""
    identity, _, action = ask.path.partition("/responses")[2].strip("/").partition("/")
    if identity:
        return _stored(ask, memory, identity, action)
    content = content_of(ask, shape)
    items = items_of(ask, shape, content) if shape.choices else []
    response = _response(ask, shape, content, items)
    if response["store"]:
        memory.responses[response["id"]] = response
    if ask.field("background") is True and not ask.stream:
        memory.polls[response["id"]] = shape.polls
        return whole_plan({**response, "status": "queued", "output": [], "usage": None})
    if ask.stream:
        return sse_plan(_stream(shape, response, items))
    return whole_plan(response, tokens=content.output_tokens)


def _stored(ask: Ask, memory: Memory, identity: str, action: str) -> Plan:
    response = memory.responses.get(identity)
    if response is None:
        message = f"response with id {identity!r} not found"
        body = error(404, message, "invalid_request_error")
        return Plan(pieces=(Piece(Kind.WHOLE, body),), status=404)
    if ask.method == "DELETE":
        del memory.responses[identity]
        return whole_plan({"id": identity, "object": "response", "deleted": True})
    if action == "input_items":
        return whole_plan({"object": "list", "data": [], "has_more": False})
    if action == "cancel":
        memory.polls.pop(identity, None)
        response = memory.responses[identity] = {**response, "status": "cancelled"}
        return whole_plan(response)
    left = memory.polls.get(identity, 0)
    if left > 0:
        memory.polls[identity] = left - 1
        return whole_plan({**response, "status": "in_progress", "output": [], "usage": None})
    return whole_plan(response)


def _response(ask: Ask, shape: Shape, content: Content, items: list[Item]) -> dict[str, Any]:
    status = "incomplete" if content.finish in _INCOMPLETE else "completed"
    failed = content.finish == "failed"
    prompt = input_tokens(ask, shape)
    usage = {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": shape.cached_tokens},
        "output_tokens": content.output_tokens,
        "output_tokens_details": {"reasoning_tokens": content.hidden + len(content.reasoning)},
        "total_tokens": prompt + content.output_tokens,
    }
    body = {
        "id": f"resp_{ask.identity}",
        "object": "response",
        "created_at": ask.created,
        "status": "failed" if failed else status,
        "background": ask.field("background", False),
        "error": {"code": "server_error", "message": "the model failed"} if failed else None,
        "incomplete_details": {"reason": _INCOMPLETE[content.finish]} if status == "incomplete" else None,
        "model": ask.model,
        "output": [] if failed else [item.whole for item in items],
        **{name: ask.field(name, default) for name, default in _ECHOED.items()},
        "usage": None if failed or shape.usage == "none" else usage,
    }
    return merged(body, shape.extra)


def _stream(shape: Shape, response: dict[str, Any], items: list[Item]) -> Iterator[Piece]:
    number = 0

    def numbered(name: str, body: dict[str, Any]) -> bytes:
        nonlocal number
        data = b'event: %b\ndata: {"type":"%b","sequence_number":%d,%b\n\n' % (
            *(name.encode(), name.encode(), number, dump(body)[1:]),
        )
        number += 1
        return data

    begun = {**response, "status": "in_progress", "output": [], "usage": None, "error": None}
    begun["incomplete_details"] = None
    if shape.role_chunk:
        yield Piece(Kind.OPEN, numbered("response.created", {"response": begun}))
        yield Piece(Kind.OPEN, numbered("response.in_progress", {"response": begun}))
    for index, item in enumerate(items if response["status"] != "failed" else items[:1]):
        for part in item.parts:
            yield Piece(part.kind, numbered(part.name, {"output_index": index, **part.body}), part.tokens)
            if response["status"] == "failed" and part.kind is Kind.TOKEN:
                break  # a failure comes in the middle
    if shape.end_marker and shape.finish_only is None:
        yield Piece(Kind.END, numbered(f"response.{response['status']}", {"response": response}))
