"""What chat and completions share besides the shape of their texts: usage on streams, judging, rendering per asker."""

from __future__ import annotations

import re

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.dialects.base import Verdict, as_object, read_answer, str_or_none
from edgeinf.core.dialects.openai_common import read_usage, unfit_finish
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import DONE, Event

__all__ = ["judge_choices", "marks", "render_chunk", "trim_chunks", "with_usage"]


# How the data of a chunk ends that has padding as its last member. The brace before an event's end closes the chunk
# itself, so what stands right before it is the chunk's own and can be cut without parsing.
_PADDING = re.compile(rb',"obfuscation":"[A-Za-z0-9]*"\}\n\n')
_PADDED, _USAGE = b'"obfuscation"', b'"usage"'
_NO_USAGE, _END = b',"usage":null}\n\n', b"}\n\n"


def _wants_usage(call: Call) -> bool:
    return as_object(call.body.get("stream_options")).get("include_usage") is True


def with_usage(call: Call) -> JsonObject | None:
    """Return the body with usage asked for, so that a stored stream can serve those who want it; None if it is so."""
    if not call.stream or _wants_usage(call):
        return None
    return {**call.body, "stream_options": {**as_object(call.body.get("stream_options")), "include_usage": True}}


def judge_choices(call: Call, body: bytes) -> Verdict:
    """Judge a whole answer: every choice there and finished, no error, nothing filtered."""
    document = read_answer(body)
    if isinstance(document, Verdict):
        return document
    document = as_object(document)
    listed = document.get("choices")
    choices = [choice for choice in listed if isinstance(choice, dict)] if isinstance(listed, list) else []
    finishes = [choice.get("finish_reason") for choice in choices]
    unfit = None
    if not choices:
        unfit = "no choices"
    elif len(choices) < call.choices or not all(finishes):
        unfit = "not every choice finished"
    else:
        unfit = next(filter(None, map(unfit_finish, choices)), None)
        if unfit is None and len(choices) > 1 and _same_index(choices):
            unfit = "two choices have one index"
    return Verdict(unfit=unfit, usage=read_usage(document.get("usage")), model=str_or_none(document.get("model")))


def _same_index(choices: list[JsonObject]) -> bool:
    """Return whether choices that are numbered share a number; some servers do not number them."""
    numbers = [repr(choice["index"]) for choice in choices if "index" in choice]
    return len(set(numbers)) < len(numbers)


def marks(call: Call) -> tuple[bytes, ...]:
    """Return what a chunk holds that this asker may not have asked for."""
    return (_PADDED,) if _wants_usage(call) else (_PADDED, _USAGE)


def trim_chunks(call: Call, piece: bytes) -> bytes:
    """Return whole events without padding and unasked usage where their last bytes show how."""
    if b'"error"' in piece or b"\r" in piece or b"\n:" in piece or piece.startswith(b":"):
        return piece
    if _PADDED in piece:
        piece = _PADDING.sub(_END, piece)
    return piece if _wants_usage(call) else piece.replace(_NO_USAGE, _END)


def render_chunk(call: Call, event: Event) -> Event | None:
    """Return a chunk without padding, and without usage where the asker did not ask for it."""
    data = event.data
    if data.startswith(DONE) or not any(mark in data for mark in marks(call)):
        return event
    try:
        chunk = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return event
    if not isinstance(chunk, dict):
        return event
    changed = "obfuscation" in chunk
    chunk.pop("obfuscation", None)
    if not _wants_usage(call) and "usage" in chunk and not chunk.get("error"):
        chunk.pop("usage")
        changed = True
        if not chunk.get("choices"):
            return None
    return Event(event.name, msgspec.json.encode(chunk)) if changed else event
