"""An answer as one asker wants it: stream or whole, with the fields that asker's request decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.dialects.base import Dialect
from edgeinf.core.wire import sse

if TYPE_CHECKING:
    from edgeinf.serve.steps.answer import AnswerView

__all__ = ["StreamRenderer", "events_for", "variant_of", "whole_for"]


def variant_of(dialect: Dialect, call: Call) -> bytes:
    """Return what one asker's rendering depends on beside the answer: the fields that no key holds."""
    return msgspec.json.encode({name: call.body[name] for name in dialect.unkeyed if name in call.body}, order="sorted")


def whole_for(dialect: Dialect, call: Call, body: bytes, *, stream: bool, view: AnswerView | None = None) -> bytes:
    """Return a whole answer. Raise ValueError where a stream cannot be folded, CallError where a rule blocks it."""
    whole = dialect.fold(sse.decode_all(body)) if stream else body
    rendered = dialect.render_whole(call, whole)
    return rendered if view is None else view.whole(rendered)


def events_for(
    dialect: Dialect, call: Call, body: bytes, *, stream: bool, view: AnswerView | None = None
) -> list[bytes]:
    """Return an answer as rendered events, each in its bytes.

    Raise ValueError where it cannot be unfolded, CallError where a rule blocks it.
    """
    events = sse.decode_all(body) if stream else dialect.unfold(body)
    rendered = [shown for event in events if (shown := dialect.render_event(call, event)) is not None]
    return [sse.encode(event) for event in (rendered if view is None else view.events(rendered))]


class StreamRenderer:
    """Renders a live stream for one asker; pieces are whole events, and most pass untouched."""

    __slots__ = ("_call", "_dialect", "_editor")

    def __init__(self, dialect: Dialect, call: Call, view: AnswerView | None = None) -> None:
        self._dialect = dialect
        self._call = call
        self._editor = None if view is None else view.editor()

    def feed(self, piece: bytes) -> bytes:
        """Return the piece as this asker wants it. Raise CallError where a rule blocks what comes."""
        if self._editor is not None:
            events = (self._dialect.render_event(self._call, event) for event in sse.decode_all(piece))
            edited = (shown for event in events if event is not None for shown in self._editor.event(event))
            return b"".join(map(sse.encode, edited))
        if not self._dialect.renders(self._call, piece):
            return piece
        if b"\r" in piece:
            return self._rendered(piece)
        # Most events of a piece need no change, and most of the others can be trimmed without parsing.
        renders, trim, call = self._dialect.renders, self._dialect.trim, self._call
        done = []
        *texts, rest = piece.split(b"\n\n")
        for text in texts:
            if not renders(call, text):
                done.append(text + b"\n\n")
                continue
            plain = text.startswith(b"data: ") and b"\n" not in text
            trimmed = trim(call, text[6:]) if plain else None
            done.append(self._rendered(text + b"\n\n") if trimmed is None else b"data: %b\n\n" % trimmed)
        if rest:
            done.append(self._rendered(rest))
        return b"".join(done)

    def _rendered(self, piece: bytes) -> bytes:
        rendered = (self._dialect.render_event(self._call, event) for event in sse.decode_all(piece))
        return b"".join(sse.encode(event) for event in rendered if event is not None)
