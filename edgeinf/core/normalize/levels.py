"""Which level uses which rule. A level's version is part of every key it makes: raise it when a rule changes."""

from __future__ import annotations

from typing import Any

import msgspec

from edgeinf.core.normalize import edges, fences, line_ends, unicode_nfc
from edgeinf.core.normalize.base import Rule

__all__ = ["DEFAULT_LEVEL", "LEVELS", "Level", "level"]

DEFAULT_LEVEL = "safe"


class Level(msgspec.Struct, frozen=True, kw_only=True):
    """A way to look at a request. ``text`` rules run on each natural-language text, in order."""

    name: str
    version: int
    text: tuple[Rule, ...] = ()
    keep_properties_order: bool = True

    @property
    def identity(self) -> bool:
        """Return whether this level leaves every text as it is."""
        return not self.text

    def content(self, role: str, content: Any) -> Any:
        """Return a message's content in normal form; parts other than text stay as they are."""
        if isinstance(content, str):
            return self._message_text(content, first=True, last=True)
        if not isinstance(content, list) or not content:
            return content
        if len(content) == 1 and _is_plain_text(content[0]):
            return self._message_text(content[0]["text"], first=True, last=True)
        last = len(content) - 1
        return [
            {**part, "text": self._message_text(part["text"], first=number == 0, last=number == last)}
            if _is_text(part)
            else part
            for number, part in enumerate(content)
        ]

    def tools(self, tools: Any) -> Any:
        """Return tool definitions in normal form."""
        return tools

    def _message_text(self, text: str, *, first: bool, last: bool) -> str:
        if "```" not in text and "~~~" not in text:
            return _trimmed(self._plain_text(text), first=first, last=last)
        pieces = fences.split(text)
        done = [piece if code else self._plain_text(piece) for code, piece in pieces]
        if not pieces[0][0]:
            done[0] = edges.trim_start(done[0]) if first else done[0]
            if first and len(done) > 1 and not done[0].strip():
                done[0] = ""
        if last and not pieces[-1][0]:
            done[-1] = edges.trim_end(done[-1]) if done[-1].strip() else ""
        return "".join(done)

    def _plain_text(self, text: str) -> str:
        for rule in self.text:
            text = rule.apply(text)
        return text


def _trimmed(text: str, *, first: bool, last: bool) -> str:
    if first:
        text = edges.trim_start(text)
    return edges.trim_end(text) if last else text


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("text", "input_text") and isinstance(part.get("text"), str)


def _is_plain_text(part: Any) -> bool:
    return _is_text(part) and len(part) == 2


_SAFE = (line_ends.RULE, unicode_nfc.RULE)

LEVELS: dict[str, Level] = {
    "exact": Level(name="exact", version=1),
    "safe": Level(name="safe", version=1, text=_SAFE),
}


def level(name: str) -> Level:
    """Return a level by name. Raise KeyError."""
    return LEVELS[name]
