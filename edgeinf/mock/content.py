"""Make the content of an answer from the request, before any dialect renders it."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import msgspec

from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask

__all__ = ["Content", "ToolPart", "content_of", "cut_into", "group", "input_tokens", "limit_of", "text_of", "words"]

_WORDS = (
    "the of a to in is that for it on with as was at by this from or an "
    "be edge cache token model region answer question stream delay first last near far north south river stone light "
    "paper cloud signal copy seven eleven forty under over between within quick slow clear blue green brown small "
    "large early late"
)
_ASCII = tuple(_WORDS.split())
_WIDE = ("naïve", "São", "世界", "😀", "Größe", "данные", "日本語", "👩‍🚀", "café", "\u2028", "ﬁn", "Ωmega")
_MASK = (1 << 64) - 1
_TABLE_SIZE = 8192


@cache
def _table(unicode: bool) -> list[str]:
    """Draw the words once: answers are slices of this, which costs nothing per token."""
    state, drawn = 1, []
    for _ in range(2 * _TABLE_SIZE):
        state = (state * 6364136223846793005 + 1442695040888963407) & _MASK
        pick = state >> 33
        drawn.append(" " + (_WIDE[pick % len(_WIDE)] if unicode and pick % 5 < 2 else _ASCII[pick % len(_ASCII)]))
    return drawn


class ToolPart(msgspec.Struct):
    """One tool call, its arguments already in fragments that join to the whole."""

    name: str
    arguments: list[str]


class Content(msgspec.Struct):
    """What one choice says. Lists are tokens or deltas, in order; they join to the whole text."""

    reasoning: list[str]
    refusal: list[str]
    text: list[str]
    tools: list[ToolPart]
    finish: str  # stop | length | tool_calls, or what the shape demands
    hidden: int

    @property
    def output_tokens(self) -> int:
        tools = sum([len(tool.arguments) for tool in self.tools]) if self.tools else 0
        return self.hidden + len(self.reasoning) + len(self.refusal) + len(self.text) + tools


def content_of(ask: Ask, shape: Shape, index: int = 0) -> Content:
    """Build what choice ``index`` says, within the request's own token limit."""
    limit = limit_of(ask)
    room = limit if limit is not None else 1 << 40
    hidden = min(shape.hidden_reasoning, room) if shape.hidden_reasoning else 0
    reasoning: list[str] = []
    if shape.reasoning:
        reasoning = words(ask.digest ^ 0x5EED, index, min(shape.reasoning, room - hidden), unicode=shape.unicode)
    room -= hidden + len(reasoning)
    content = Content(reasoning=reasoning, refusal=[], text=[], tools=[], finish="stop", hidden=hidden)
    if shape.refusal is not None:
        content.refusal = cut_into(shape.refusal, max(1, min(4, room)))
        return content
    if shape.tool_calls:
        content.tools = [ToolPart(c.name, cut_into(c.arguments, c.parts)) for c in shape.tool_calls]
        content.finish = "tool_calls"
        wanted = text_of(ask, shape, index) if shape.text or shape.pieces else []
    else:
        wanted = text_of(ask, shape, index)
    content.text = wanted[:room] if len(wanted) > room else wanted
    if len(content.text) < len(wanted) or (hidden + len(reasoning) < shape.hidden_reasoning + shape.reasoning):
        content.finish = "length"
    if shape.finish is not None:
        content.finish = shape.finish
    return content


def text_of(ask: Ask, shape: Shape, index: int) -> list[str]:
    """Return the tokens of the answer's text, without any limit."""
    if shape.pieces:
        return list(shape.pieces)
    if shape.text is not None:
        return cut_into(shape.text, max(1, len(shape.text) // 4))
    if shape.echo:
        said = _last_user_text(ask)
        return cut_into(said, max(1, len(said) // 4))
    tokens = words(ask.digest, index, shape.tokens, unicode=shape.unicode)
    if tokens:
        tokens[0] = f"{(ask.digest + index) & _MASK:016x}"
    return tokens


def words(seed: int, index: int, count: int, *, unicode: bool = False) -> list[str]:
    """Return ``count`` words, each with the space before it, from a place that the request decides."""
    table = _table(unicode)
    at = (seed + index * 0x9E3779B1) % _TABLE_SIZE
    if at + count <= len(table):
        return table[at : at + count]
    return [table[(at + i) % len(table)] for i in range(count)]


def cut_into(text: str, parts: int) -> list[str]:
    """Cut a text into at most ``parts`` pieces of nearly equal length, which join to the text."""
    parts = max(1, min(parts, len(text)))
    edges = [len(text) * i // parts for i in range(parts + 1)]
    return [text[a:b] for a, b in pairwise(edges) if a < b] if text else []


def group(tokens: list[str], shape: Shape) -> list[tuple[str, int]]:
    """Join tokens into the deltas that are sent: (text, number of tokens)."""
    size = shape.tokens_per_piece
    if size == 1 and shape.first_piece in (0, 1):
        return [(token, 1) for token in tokens]
    first = shape.first_piece or size
    parts = [tokens[:first], *(tokens[i : i + size] for i in range(first, len(tokens), size))]
    return [("".join(part), len(part)) for part in parts if part]


def limit_of(ask: Ask) -> int | None:
    """Return the request's own bound on output tokens, whatever its name."""
    body = ask.json
    if type(body) is not dict:
        return None
    for name in ("max_completion_tokens", "max_tokens", "max_output_tokens"):
        value = body.get(name)
        if isinstance(value, int) and value >= 0:
            return value
    return None


def input_tokens(ask: Ask, shape: Shape) -> int:
    """Return the input tokens that the usage states."""
    return shape.input_tokens if shape.input_tokens is not None else max(1, ask.digest_bytes // 4)


def _last_user_text(ask: Ask) -> str:
    """Return the text of the last message or input, as a plain string."""
    messages = ask.field("messages") or ask.field("input") or ask.field("prompt") or ""
    while isinstance(messages, list) and messages:
        messages = messages[-1]
        if isinstance(messages, dict):
            messages = messages.get("content") or messages.get("text") or ""
    return messages if isinstance(messages, str) else _plain(messages)


def _plain(value: Any) -> str:
    return msgspec.json.encode(value).decode()
