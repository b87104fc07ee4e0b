"""What one text of an answer goes through, stage by stage, as it arrives."""

from __future__ import annotations

from collections.abc import Callable

from edgeinf.core.errors import CallError
from edgeinf.serve.guard.deny import Denied, DenyPatterns
from edgeinf.serve.guard.redaction import RedactedStream, Redactor

__all__ = ["TextChannel", "Thoughts"]

_OPEN, _CLOSE = "<think>", "</think>"


class Thoughts:
    """Takes out reasoning that a text begins with, in the tags that many open models write it in."""

    __slots__ = ("_rest", "_state")

    def __init__(self) -> None:
        self._state = "start"
        self._rest = ""

    def feed(self, text: str) -> str:
        """Return what is no reasoning."""
        if self._state == "open":
            return text
        text = self._rest + text
        self._rest = ""
        if self._state == "start":
            begins = text.lstrip()
            if begins.startswith(_OPEN):
                self._state, text = "inside", begins[len(_OPEN) :]
            elif _OPEN.startswith(begins):
                self._rest = text
                return ""
            else:
                self._state = "open"
                return text
        if self._state == "inside":
            end = text.find(_CLOSE)
            if end < 0:
                self._rest = text[-len(_CLOSE) + 1 :]
                return ""
            self._state, text = "after", text[end + len(_CLOSE) :]
        text = text.lstrip()
        if text:
            self._state = "open"
        return text

    def close(self) -> str:
        """Return what was held back and turned out to be no reasoning."""
        rest, self._rest = self._rest, ""
        return rest if self._state == "start" else ""


class TextChannel:
    """Reasoning out, patterns looked for, personal data out, then what stands before and after."""

    def __init__(
        self,
        *,
        strip: bool,
        deny: DenyPatterns,
        redactor: Redactor | None,
        header: Callable[[], str],
        footer: str,
        denied: Callable[[Denied], None],
    ) -> None:
        self._thoughts = Thoughts() if strip else None
        self._deny = deny.stream() if deny else None
        self._redactor = redactor
        self._redacted: RedactedStream | None = None  # from the first piece on
        self._header = header
        self._footer = footer
        self._denied = denied
        self._told = 0
        self._spoke = False

    def feed(self, text: str) -> str:
        """Return what may be shown now. Raise CallError where a pattern blocks the answer."""
        if self._thoughts is not None:
            text = self._thoughts.feed(text)
        if self._deny is not None:
            text = self._deny.feed(text)
            self._judge()
        if self._redactor is not None:
            text = self._pieces(self._redactor).feed(text)
        return self._opened(text)

    def close(self, *, footer: bool) -> str:
        """Return the rest. Raise CallError where a pattern blocks the answer."""
        text = self._thoughts.close() if self._thoughts is not None else ""
        if self._deny is not None:
            text = self._deny.feed(text) + self._deny.close()
            self._judge()
        if self._redactor is not None:
            pieces = self._pieces(self._redactor)
            text = pieces.feed(text) + pieces.close()
        text = self._opened(text)
        return text + self._footer if footer and self._spoke else text

    def whole(self, text: str, *, footer: bool) -> str:
        """Return a whole text, as ``feed`` and ``close`` let it through. Raise CallError where a pattern blocks it."""
        if self._thoughts is not None:
            text = self._thoughts.feed(text) + self._thoughts.close()
        if self._deny is not None:
            text = self._deny.feed(text) + self._deny.close()
            self._judge()
        if self._redactor is not None:
            text = self._redactor(text)  # it finds in a whole what it finds in the pieces
        text = self._opened(text)
        return text + self._footer if footer and self._spoke else text

    def _pieces(self, redactor: Redactor) -> RedactedStream:
        if self._redacted is None:
            self._redacted = redactor.stream()
        return self._redacted

    def _opened(self, text: str) -> str:
        if not text or self._spoke:
            return text
        self._spoke = True
        return self._header() + text

    def _judge(self) -> None:
        assert self._deny is not None
        for denied in self._deny.found[self._told :]:
            self._told += 1
            self._denied(denied)
            if denied.block:
                raise CallError(
                    f"the answer matches a pattern that this server does not let pass (answer.deny[{denied.number}])",
                    status=502,
                    code="answer_blocked",
                )
