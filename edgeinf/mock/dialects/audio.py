"""Speech as bytes, and transcriptions of what was uploaded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from edgeinf.mock.content import words
from edgeinf.mock.dialects.base import Memory, event, openai_error, sse_plan, whole_plan
from edgeinf.mock.dialects.multipart import read_form
from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["answer", "error"]

error = openai_error

_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}


def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
    """Speak a text, or write down an upload."""
    return _speech(ask, shape) if ask.path.endswith("/speech") else _transcript(ask, shape)


def _speech(ask: Ask, shape: Shape) -> Plan:
    audio = hashlib.shake_128(ask.digest.to_bytes(8, "big")).digest(shape.bytes)
    step = max(1, len(audio) // 4)
    pieces = [Piece(Kind.TOKEN, audio[i : i + step], 1) for i in range(0, len(audio), step)]
    kind = _TYPES.get(ask.field("response_format", "mp3"), "application/octet-stream")
    return Plan(pieces=pieces, content_type=kind, framing="chunked")


def _transcript(ask: Ask, shape: Shape) -> Plan:
    form = read_form(ask)
    if form is None or form.file is None:
        body = error(400, "field required: file", "invalid_request_error")
        return Plan(pieces=(Piece(Kind.WHOLE, body),), status=400)
    # The file's bytes decide, not its name: two files of one name are two questions.
    digest = int.from_bytes(hashlib.blake2b(form.file, digest_size=8).digest(), "big")
    tokens = [f"{digest:016x}", *words(digest, 0, max(0, shape.tokens - 1), unicode=shape.unicode)]
    text = "".join(tokens)
    if form.fields.get("stream") == "true":
        return sse_plan(_stream(tokens, text))
    shape_name = form.fields.get("response_format", "json")
    if shape_name in ("text", "srt", "vtt"):
        return Plan(pieces=(Piece(Kind.WHOLE, text.encode() + b"\n"),), content_type="text/plain; charset=utf-8")
    if shape_name == "verbose_json":
        return whole_plan({"task": "transcribe", "language": "english", "duration": 1.0, "text": text, "segments": []})
    return whole_plan({"text": text, "usage": {"type": "duration", "seconds": 1}})


def _stream(tokens: list[str], text: str) -> Iterator[Piece]:
    for token in tokens:
        body = {"type": "transcript.text.delta", "delta": token}
        yield Piece(Kind.TOKEN, event("transcript.text.delta", body), 1)
    yield Piece(Kind.END, event("transcript.text.done", {"type": "transcript.text.done", "text": text}))
