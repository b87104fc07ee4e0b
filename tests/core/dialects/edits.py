"""Edits for tests of editors: texts held back until their end, upper-cased, with what is asked for around them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Shout"]


class _Held:
    def __init__(self, header: str, footer: str) -> None:
        self._text, self._header, self._footer = "", header, footer

    def feed(self, text: str) -> str:
        self._text += text
        return ""

    def whole(self, text: str, *, footer: bool) -> str:
        return self.feed(text) + self.close(footer=footer)

    def close(self, *, footer: bool) -> str:
        if not self._text:
            return ""
        return self._header + self._text.upper() + (self._footer if footer else "")


@dataclass
class Shout:
    """Everything comes at the end of its text, which is what is hardest for an editor of streams."""

    strip_reasoning: bool = True
    rewrites: bool = True
    footer: str = ""

    def channel(self) -> _Held:
        return _Held("", self.footer)
