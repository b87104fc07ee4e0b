"""What chat and completions share besides the shape of their texts: usage on streams, judging, rendering per asker."""

from __future__ import annotations

import re

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.dialects.base import Verdict, as_object, read_answer, str_or_none
from edgeinf.core.dialects.openai_common import read_usage
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import DONE, Event

__all__ = ["judge_choices", "render_chunk", "renders_chunk", "trim_chunk", "with_usage"]


# How a chunk ends that has usage or padding as its last members. The last brace closes the chunk itself, so what stands
# right before it is the chunk's own and can be cut without parsing.
_TAIL = re.compile(rb'(?:,"usage":null)?(?:,"obfuscation":"[A-Za-z0-9]*")?\}')


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
    elif "content_filter" in finishes:
        unfit = "content filter"
    return Verdict(unfit=unfit, usage=read_usage(document.get("usage")), model=str_or_none(document.get("model")))


def renders_chunk(call: Call, chunk: bytes) -> bool:
    """Return whether these bytes may hold what this asker did not ask for."""
    return b'"obfuscation"' in chunk or (b'"usage"' in chunk and not _wants_usage(call))


def trim_chunk(call: Call, data: bytes) -> bytes | None:
    """Return a chunk without padding and unasked usage where its last bytes show how; None where it must be parsed."""
    wants_usage = _wants_usage(call)
    at = -1 if wants_usage else data.rfind(b',"usage":null')
    if at < 0:
        at = data.rfind(b',"obfuscation":"')
    if at < 0 or _TAIL.fullmatch(data, at) is None or b'"error"' in data:
        return None
    if data.find(b'"obfuscation"', 0, at) >= 0 or (not wants_usage and data.find(b'"usage"', 0, at) >= 0):
        return None
    return data[:at] + b"}"


def render_chunk(call: Call, event: Event) -> Event | None:
    """Return a chunk without padding, and without usage where the asker did not ask for it."""
    data = event.data
    if not renders_chunk(call, data) or data.startswith(DONE):
        return event
    trimmed = trim_chunk(call, data)
    if trimmed is not None:
        return Event(event.name, trimmed)
    try:
        chunk = msgspec.json.decode(event.data)
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
