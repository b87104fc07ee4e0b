"""An answer as one asker wants it: stream or whole, with the fields that asker's request decides."""

from __future__ import annotations

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.dialects.base import Dialect
from edgeinf.core.wire import sse
from edgeinf.serve.cache.entry import Entry

__all__ = ["StreamRenderer", "events_for", "variant_of", "whole_for"]


def variant_of(dialect: Dialect, call: Call) -> bytes:
    """Return what one asker's rendering depends on beside the answer: the fields that no key holds."""
    return msgspec.json.encode({name: call.body[name] for name in dialect.unkeyed if name in call.body}, order="sorted")


def whole_for(dialect: Dialect, call: Call, body: bytes, *, stream: bool) -> bytes:
    """Return a whole answer. Raise ValueError where a stream cannot be folded."""
    whole = dialect.fold(sse.decode_all(body)) if stream else body
    return dialect.render_whole(call, whole)


def events_for(dialect: Dialect, call: Call, entry: Entry) -> list[bytes]:
    """Return a stored answer as rendered events, each in its bytes. Raise ValueError where it cannot be unfolded."""
    events = sse.decode_all(entry.body) if entry.stream else dialect.unfold(entry.body)
    rendered = (dialect.render_event(call, event) for event in events)
    return [sse.encode(event) for event in rendered if event is not None]


class StreamRenderer:
    """Renders a live stream for one asker; pieces are whole events, and most pass untouched."""

    __slots__ = ("_call", "_dialect")

    def __init__(self, dialect: Dialect, call: Call) -> None:
        self._dialect = dialect
        self._call = call

    def feed(self, piece: bytes) -> bytes:
        """Return the piece as this asker wants it."""
        if not self._dialect.renders(self._call, piece):
            return piece
        rendered = (self._dialect.render_event(self._call, event) for event in sse.decode_all(piece))
        return b"".join(sse.encode(event) for event in rendered if event is not None)
