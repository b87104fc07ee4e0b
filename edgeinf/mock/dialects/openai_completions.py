"""OpenAI's older text completions: one or several prompts, each with ``n`` choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from edgeinf.mock.content import Content, content_of, group
from edgeinf.mock.dialects.base import Memory, dump, merged, openai_error, round_robin, sse_plan, whole_plan
from edgeinf.mock.dialects.openai_chat import usage_of
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["answer", "error"]

error = openai_error


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Answer a completion; choice ``i`` belongs to prompt ``i // n``."""
    shape = replace(shape, tool_calls=(), reasoning=0, refusal=None)  # this API has neither
    prompts = _prompts(ask.field("prompt"))
    asked = ask.field("n")
    n = asked if isinstance(asked, int) and asked > 0 else 1
    contents = [content_of(ask, shape, index) for index in range(n * len(prompts))]
    if ask.field("echo") is True:
        for index, content in enumerate(contents):
            content.text = [prompts[index // n], *content.text]
    if ask.stream:
        return sse_plan(_stream(ask, shape, contents))
    body = _head(ask)
    body["choices"] = [_choice(ask, shape, i, c) for i, c in enumerate(contents)] if shape.choices else []
    if shape.usage != "none":
        body["usage"] = usage_of(ask, shape, contents)
    return whole_plan(merged(body, shape.extra), tokens=max((c.output_tokens for c in contents), default=0))


def _prompts(prompt: Any) -> list[str]:
    """Return one text per prompt; token arrays count as one prompt each."""
    if isinstance(prompt, list) and prompt and not isinstance(prompt[0], int):
        return [item if isinstance(item, str) else dump(item).decode() for item in prompt]
    return [prompt if isinstance(prompt, str) else dump(prompt).decode()]


def _head(ask: Ask) -> dict[str, Any]:
    return {
        "id": f"cmpl-{ask.identity}",
        "object": "text_completion",
        "created": ask.created,
        "model": ask.model,
        "system_fingerprint": f"fp_{ask.region}",
    }


def _choice(ask: Ask, shape: Shape, index: int, content: Content) -> dict[str, Any]:
    logprobs = None
    if ask.field("logprobs") is not None:
        count = len(content.text)
        logprobs = {"tokens": content.text, "token_logprobs": [-0.25] * count, "top_logprobs": None}
    finish = None if shape.finish_only is not None and index not in shape.finish_only else content.finish
    return {"index": index, "text": "".join(content.text), "logprobs": logprobs, "finish_reason": finish}


def _stream(ask: Ask, shape: Shape, contents: list[Content]) -> Iterator[Piece]:
    wants_usage = shape.usage == "asked" and (ask.field("stream_options") or {}).get("include_usage") is True
    head = merged(_head(ask), shape.extra)

    def chunk(choices: list[dict[str, Any]], usage: Any = None) -> bytes:
        body = {**head, "choices": choices}
        if wants_usage or usage is not None:
            body["usage"] = usage
        return b"data: %b\n\n" % dump(body)

    lanes = []
    for index, content in enumerate(contents if shape.choices else ()):
        choice = {"index": index, "logprobs": None, "finish_reason": None}
        texts = group(content.text, shape)
        lanes.append([Piece(Kind.TOKEN, chunk([{**choice, "text": text}]), tokens) for text, tokens in texts])
    yield from round_robin(lanes)
    if not shape.choices:
        yield Piece(Kind.MARK, chunk([]))
    for index, content in enumerate(contents if shape.choices else ()):
        if shape.finish_only is None or index in shape.finish_only:
            last = shape.usage in ("last-choice", "every") and index == len(contents) - 1
            usage = usage_of(ask, shape, contents) if last else None
            ended = {"index": index, "text": "", "logprobs": None, "finish_reason": content.finish}
            yield Piece(Kind.MARK, chunk([ended], usage))
    if wants_usage:
        yield Piece(Kind.USAGE, chunk([], usage_of(ask, shape, contents)))
    if shape.end_marker:
        yield Piece(Kind.END, b"data: [DONE]\n\n")
