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

    __slots__ = ("_call", "_dialect", "_editor", "_marks")

    def __init__(self, dialect: Dialect, call: Call, view: AnswerView | None = None) -> None:
        self._dialect = dialect
        self._call = call
        self._marks = dialect.marks(call)
        self._editor = None if view is None else view.editor()

    def feed(self, piece: bytes) -> bytes:
        """Return the piece as this asker wants it. Raise CallError where a rule blocks what comes."""
        if self._editor is not None:
            events = (self._dialect.render_event(self._call, event) for event in sse.decode_all(piece))
            edited = (shown for event in events if event is not None for shown in self._editor.event(event))
            return b"".join(map(sse.encode, edited))
        if self._marked(piece, 0) < 0:
            return piece
        # What most events hold can be cut without parsing; the few that must be parsed are taken out of their row.
        piece = self._dialect.trim(self._call, piece)
        at = self._marked(piece, 0)
        if at < 0:
            return piece
        if b"\r" in piece:
            return self._rendered(piece)
        done: list[bytes] = []
        here = 0
        while at >= 0:
            before, after = piece.rfind(b"\n\n", here, at), piece.find(b"\n\n", at)
            start, end = (here if before < 0 else before + 2), (len(piece) if after < 0 else after + 2)
            done += (piece[here:start], self._rendered(piece[start:end]))
            here, at = end, self._marked(piece, end)
        done.append(piece[here:])
        return b"".join(done)

    def _marked(self, piece: bytes, start: int) -> int:
        """Return where the next mark stands, -1 if none does."""
        found = [at for mark in self._marks if (at := piece.find(mark, start)) >= 0]
        return min(found, default=-1)

    def _rendered(self, piece: bytes) -> bytes:
        rendered = (self._dialect.render_event(self._call, event) for event in sse.decode_all(piece))
        return b"".join(sse.encode(event) for event in rendered if event is not None)
