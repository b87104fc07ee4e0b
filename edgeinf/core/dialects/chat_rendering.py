"""What chat and completions share besides the shape of their texts: usage on streams, judging, rendering per asker."""

from __future__ import annotations

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.dialects.base import Verdict, as_object, soft_error, str_or_none
from edgeinf.core.dialects.openai_common import read_usage
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import DONE, Event

__all__ = ["judge_choices", "render_chunk", "renders_chunk", "with_usage"]


# How servers end a chunk without usage once it was asked for.
_NO_USAGE = b',"usage":null}'


def _wants_usage(call: Call) -> bool:
    return as_object(call.body.get("stream_options")).get("include_usage") is True


def with_usage(call: Call) -> JsonObject | None:
    """Return the body with usage asked for, so that a stored stream can serve those who want it; None if it is so."""
    if not call.stream or _wants_usage(call):
        return None
    return {**call.body, "stream_options": {**as_object(call.body.get("stream_options")), "include_usage": True}}


def judge_choices(call: Call, body: bytes) -> Verdict:
    """Judge a whole answer: every choice there and finished, no error, nothing filtered."""
    try:
        document = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return Verdict(unfit="malformed answer")
    error = soft_error(document)
    if error is not None:
        return Verdict(unfit="error in the answer", error=error)
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


def render_chunk(call: Call, event: Event) -> Event | None:
    """Return a chunk without padding, and without usage where the asker did not ask for it."""
    data = event.data
    if not renders_chunk(call, data) or data.startswith(DONE):
        return event
    if data.endswith(_NO_USAGE) and data.count(b'"usage"') == 1 and b'"obfuscation"' not in data:
        # The last member before the last brace is the chunk's own, so it can be cut without parsing.
        return Event(event.name, data[: -len(_NO_USAGE)] + b"}")
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
