"""OpenAI chat completions, as a stream and as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from edgeinf.mock.content import Content, content_of, group, input_tokens
from edgeinf.mock.dialects.base import Memory, dump, merged, openai_error, round_robin, sse_plan, whole_plan
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["answer", "error", "usage_of"]

error = openai_error


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Answer a chat completion."""
    asked = ask.field("n")
    n = asked if isinstance(asked, int) and asked > 0 else 1
    contents = [content_of(ask, shape, index) for index in range(n)]
    if ask.stream:
        return sse_plan(_stream(ask, shape, contents))
    body: dict[str, Any] = {
        "id": f"chatcmpl-{ask.identity}",
        "object": "chat.completion",
        "created": ask.created,
        "model": ask.model,
        "choices": [_choice(ask, shape, i, c) for i, c in enumerate(contents)] if shape.choices else [],
        "service_tier": "default",
        "system_fingerprint": f"fp_{ask.region}",
    }
    if shape.usage != "none":
        body["usage"] = usage_of(ask, shape, contents)
    return whole_plan(merged(body, shape.extra), tokens=max([c.output_tokens for c in contents], default=0))


def usage_of(ask: Ask, shape: Shape, contents: list[Content]) -> dict[str, Any]:
    """Return the usage object, with its details."""
    prompt = input_tokens(ask, shape)
    completion = sum([c.output_tokens for c in contents])
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": shape.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": sum([c.hidden + len(c.reasoning) for c in contents]),
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _choice(ask: Ask, shape: Shape, index: int, content: Content) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "".join(content.text) if content.text or not (content.tools or content.refusal) else None,
        "refusal": "".join(content.refusal) if content.refusal else None,
        "annotations": list(shape.annotations),
    }
    if shape.delta:
        message |= shape.delta
    if content.reasoning:
        message[shape.reasoning_field] = "".join(content.reasoning)
    if content.tools:
        message["tool_calls"] = [
            {
                "id": _call_id(ask, index, position),
                "type": "function",
                "function": {"name": tool.name, "arguments": "".join(tool.arguments)},
            }
            for position, tool in enumerate(content.tools)
        ]
    unfinished = shape.finish_only is not None and index not in shape.finish_only
    return {
        "index": index,
        "message": message,
        "logprobs": _logprobs(content.text) if ask.field("logprobs") else None,
        "finish_reason": None if unfinished else content.finish,
    }


def _stream(ask: Ask, shape: Shape, contents: list[Content]) -> Iterator[Piece]:
    options = ask.field("stream_options") or {}
    wants_usage = shape.usage == "asked" and options.get("include_usage") is True
    head = merged(
        {
            "id": f"chatcmpl-{ask.identity}",
            "object": "chat.completion.chunk",
            "created": ask.created,
            "model": ask.model,
            "service_tier": "default",
            "system_fingerprint": f"fp_{ask.region}",
        },
        shape.extra,
    )
    front = b"data: " + dump(head)[:-1] + b',"choices":['
    tail = b"]"
    if wants_usage:
        tail += b',"usage":null'
    if shape.obfuscation or (shape.obfuscation is None and options.get("include_obfuscation") is True):
        tail += b',"obfuscation":"%x"' % (ask.digest & 0xFFFFFFFFFF)
    tail += b"}\n\n"
    if not shape.choices:
        yield Piece(Kind.MARK, front + tail)
    else:
        yield from _choices(ask, shape, contents, front, tail)
    if wants_usage:
        usage = dump(usage_of(ask, shape, contents))
        yield Piece(Kind.USAGE, front + b'],"usage":' + usage + b"}\n\n")
    if shape.end_marker:
        yield Piece(Kind.END, b"data: [DONE]\n\n")


def _choices(ask: Ask, shape: Shape, contents: list[Content], front: bytes, tail: bytes) -> Iterator[Piece]:
    if shape.role_chunk:
        for index in range(len(contents)):
            delta = {"role": "assistant", "content": "", "refusal": None}
            yield Piece(Kind.OPEN, _chunk(front, tail, index, dump(delta)))
    lanes = [_deltas(ask, shape, index, content, front, tail) for index, content in enumerate(contents)]
    pieces = iter(lanes[0]) if len(lanes) == 1 else round_robin(lanes)
    if shape.usage == "every":
        pieces = _with_running_usage(pieces, ask, shape)
    yield from pieces
    for index, content in enumerate(contents):
        if shape.finish_only is not None and index not in shape.finish_only:
            continue
        piece = Piece(Kind.MARK, _chunk(front, tail, index, b"{}", finish=content.finish))
        last = index == len(contents) - 1
        if shape.usage == "every" or (shape.usage == "last-choice" and last):
            piece.data = _add_usage(piece.data, usage_of(ask, shape, contents))
        yield piece


def _deltas(ask: Ask, shape: Shape, index: int, content: Content, front: bytes, tail: bytes) -> list[Piece]:
    open_ = front + b'{"index":%d,"delta":' % index
    close = b',"logprobs":null,"finish_reason":null}' + tail
    pieces = []
    field = dump(shape.reasoning_field)
    for text, tokens in group(content.reasoning, shape):
        data = b"%b{%b:%b}%b" % (open_, field, dump(text), close)
        pieces.append(Piece(Kind.TOKEN, data, tokens))
    if shape.delta:
        pieces.append(Piece(Kind.TOKEN, open_ + dump(shape.delta) + close))
    for text in content.refusal:
        pieces.append(Piece(Kind.TOKEN, b'%b{"refusal":%b}%b' % (open_, dump(text), close), 1))
    logprobs = bool(ask.field("logprobs"))
    for text, tokens in group(content.text, shape):
        end = close
        if logprobs:
            end = b',"logprobs":%b,"finish_reason":null}%b' % (dump(_logprobs([text])), tail)
        pieces.append(Piece(Kind.TOKEN, b'%b{"content":%b}%b' % (open_, dump(text), end), tokens))
    if shape.annotations:
        data = open_ + dump({"annotations": list(shape.annotations)}) + close
        pieces.append(Piece(Kind.SIDE, data))
    for position, tool in enumerate(content.tools):
        begun = {
            "index": position,
            "id": _call_id(ask, index, position),
            "type": "function",
            "function": {"name": tool.name, "arguments": ""},
        }
        deltas: list[dict[str, Any]] = [begun]
        deltas += [{"index": position, "function": {"arguments": part}} for part in tool.arguments]
        for delta in deltas:
            data = open_ + dump({"tool_calls": [delta]}) + close
            pieces.append(Piece(Kind.TOKEN, data, 0 if delta is begun else 1))
    return pieces


def _chunk(front: bytes, tail: bytes, index: int, delta: bytes, *, finish: str | None = None) -> bytes:
    return b'%b{"index":%d,"delta":%b,"logprobs":null,"finish_reason":%b}%b' % (
        *(front, index, delta, dump(finish), tail),
    )


def _with_running_usage(pieces: Iterator[Piece], ask: Ask, shape: Shape) -> Iterator[Piece]:
    """Put a cumulative usage on every chunk, as some servers do."""
    prompt, done = input_tokens(ask, shape), 0
    for piece in pieces:
        done += piece.tokens
        usage = {"prompt_tokens": prompt, "completion_tokens": done, "total_tokens": prompt + done}
        piece.data = _add_usage(piece.data, usage)
        yield piece


def _add_usage(data: bytes, usage: dict[str, Any]) -> bytes:
    return data[:-3] + b',"usage":' + dump(usage) + b"}\n\n"


def _logprobs(texts: list[str]) -> dict[str, Any]:
    return {
        "content": [
            {"token": text, "logprob": -0.25, "bytes": list(text.encode()), "top_logprobs": []} for text in texts
        ],
        "refusal": None,
    }


def _call_id(ask: Ask, index: int, position: int) -> str:
    return f"call_{ask.digest:016x}{index}{position}"
