"""What a request asks, apart from everything volatile."""

from __future__ import annotations

import re
import zlib
from typing import Any

import xxhash

from edgeinf.core.call import Call
from edgeinf.core.wire.canonical import JsonObject

__all__ = ["asked", "instructions", "is_redacted", "last_question", "question_number", "skeleton", "surroundings"]

_HEAD_CHARS = 2_000
_DIGIT = re.compile(r"\d")
_APART = re.compile(r"[\W_]+")
_LETTERS = bytes(
    ord(chr(c).lower()) if c < 128 and chr(c).isalpha() else ord("#") if chr(c) in "0123456789" else ord(" ")
    for c in range(256)
)


def last_question(call: Call) -> str:
    """Return the text of the last user turn, or of the prompt where there are no turns."""
    messages = call.body.get("messages")
    if isinstance(messages, list):
        for message in reversed(messages):
            if isinstance(message, dict) and message.get("role") == "user":
                return _said(message.get("content"))
        return ""
    for field in ("input", "prompt", "query"):
        if field in call.body:
            return _said(call.body[field])
    return ""


def _said(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_said(part) for part in content)
    if isinstance(content, dict):
        return _said(content.get("text") or content.get("content") or "")
    return ""


def is_redacted(question: str) -> bool:
    """Return whether somebody took something out of a question before it was logged."""
    return "redacted" in question.lower()


def question_number(question: str, call: Call, *, framed: bool = True) -> int:
    """Return a number whose upper 32 bits are equal for requests that ask much the same, and whose lower 32 bits are
    mostly equal for those whose surroundings are. ``framed`` False leaves the lower half out, where the log's route
    says as much.
    """
    return asked(question) << 32 | (surroundings(call.body) if framed else 1)


def asked(question: str) -> int:
    """Return a number of 32 bits that is equal for questions that ask much the same."""
    return xxhash.xxh32_intdigest(skeleton(question))


def surroundings(body: JsonObject) -> int:
    """Return a number of 32 bits for the system prompt but for what changes in it, and the tools' number; not zero."""
    sentences = instructions(body).replace("\n", ". ").split(". ")
    # The two smallest hashes of its sentences: one that changes is seldom among them, and those with digits are out.
    marks = sorted({zlib.crc32(s.encode("utf-8", "surrogatepass")) for s in sentences if not _DIGIT.search(s)})[:2]
    tools = body.get("tools")
    frame = repr((marks, len(tools) if isinstance(tools, list) else 0))
    return xxhash.xxh32_intdigest(frame.encode()) or 1


def instructions(body: JsonObject) -> str:
    """Return the system prompt of a body, wherever its dialect keeps it."""
    found = [_said(body[field]) for field in ("system", "instructions") if field in body]
    messages = body.get("messages")
    if isinstance(messages, list):
        found += [
            _said(m.get("content"))
            for m in messages
            if isinstance(m, dict) and m.get("role") in ("system", "developer")
        ]
    return "\n".join(found)


def skeleton(question: str) -> bytes:
    """Return a question without digits, ids, case and punctuation: what near-equal ones have in common."""
    if len(question) > 2 * _HEAD_CHARS:
        question = question[:_HEAD_CHARS] + question[-_HEAD_CHARS:]
    if question.isascii():
        plain = question.encode().translate(_LETTERS)
        words = plain.split()
        return b" ".join([word for word in words if b"#" not in word] if b"#" in plain else words)
    words_ = _APART.sub(" ", question).lower().split()
    said = " ".join(word for word in words_ if word.isalpha() or not any(map(str.isdigit, word)))
    return said.encode("utf-8", "surrogatepass")
