"""Server-sent events on bytes: an incremental decoder that keeps every byte's meaning, and an encoder.

Framing follows WHATWG HTML section 9.2: lines end with LF, CRLF or CR; an event ends at an empty line; one leading
BOM is ignored; one space after the colon is dropped; comments start with a colon; an event that is not closed by
an empty line is not dispatched. Nothing is decoded to text, so a character split over two reads stays whole.
"""

from __future__ import annotations

import msgspec

__all__ = ["DONE", "Decoder", "Event", "decode_all", "encode", "encode_all"]

DONE = b"[DONE]"
_BOM = b"\xef\xbb\xbf"


class Event(msgspec.Struct, frozen=True):
    """One event: its name (empty if none was given) and its data lines joined by LF."""

    name: bytes
    data: bytes

    @property
    def is_done(self) -> bool:
        """Return whether this is the end marker of the OpenAI dialects."""
        return self.data.startswith(DONE)


def encode(event: Event) -> bytes:
    """Write one event with LF line ends."""
    head = b"event: %b\n" % event.name if event.name else b""
    if b"\n" not in event.data:
        return b"%bdata: %b\n\n" % (head, event.data)
    return head + b"".join(b"data: %b\n" % line for line in event.data.split(b"\n")) + b"\n"


def encode_all(events: list[Event]) -> bytes:
    """Write events one after the other."""
    return b"".join(map(encode, events))


def decode_all(raw: bytes) -> list[Event]:
    """Read a whole stream."""
    return Decoder().feed(raw)


class Decoder:
    """Feed it reads of any size; it returns the events that each read completed."""

    __slots__ = ("_data", "_got_data", "_name", "_rest", "_size", "_skip_lf", "_started", "limit")

    def __init__(self, limit: int = 64 * 2**20) -> None:
        self._rest = b""  # the last, unfinished line
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0  # of the data lines gathered for the event that is not complete yet
        self._got_data = False
        self._skip_lf = False  # the last read ended in CR, so a LF that follows belongs to it
        self._started = False
        self.limit = limit  # bytes that one unfinished line, or one event, may hold before ValueError

    @property
    def between_events(self) -> bool:
        """Return whether everything fed so far was whole events (comments included)."""
        return not self._rest and not self._name and not self._got_data

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events completed by ``chunk``. Raise ValueError when a line or an event exceeds the limit."""
        if self._skip_lf and chunk:
            self._skip_lf = False
            if chunk[:1] == b"\n":
                chunk = chunk[1:]
        text = self._rest + chunk if self._rest else chunk
        if not self._started:
            if len(text) < 3 and _BOM.startswith(text):
                self._rest = text
                return []
            self._started = True
            text = text.removeprefix(_BOM)
        if text.endswith(b"\n\n") and not self._got_data and not self._name and len(text) <= self.limit:
            parts = text[:-2].split(b"\n\n")
            events = [Event(b"", part[6:]) for part in parts if part.startswith(b"data: ") and b"\n" not in part]
            if len(events) == len(parts) and b"\r" not in text:
                self._rest = b""  # as nearly all reads are: whole events of one data line each
                return events
        if b"\r" in text:
            self._skip_lf = text.endswith(b"\r")
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        lines = text.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > self.limit:
            raise ValueError(f"a line of the stream exceeds {self.limit} bytes")
        events = []
        for line in lines:
            if not line:
                if self._got_data:
                    data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
                    events.append(Event(self._name, data))
                self._name, self._data, self._got_data, self._size = b"", [], False, 0
            elif line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
                self._got_data = True
                self._size += len(line)
                if self._size > self.limit:
                    raise ValueError(f"an event of the stream exceeds {self.limit} bytes")
            elif line.startswith(b"event:"):
                self._name = line[7:] if line[6:7] == b" " else line[6:]
            elif line == b"data":
                self._data.append(b"")
                self._got_data = True
            elif line == b"event":
                self._name = b""
        return events
