"""Watch a multipart upload pass for its ``model`` field and its texts, without keeping the files in it.

Nothing of a part is let through before its head has been read, so a field that is not allowed never reaches the
origin; RFC 7578 allows any order, and a second ``model`` later in the body counts as much as the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from edgeinf.core.errors import CallError

__all__ = ["FieldWatch", "boundary_of"]

_MOST_HEAD = 16 * 1024
_MOST_VALUE = 1024
_MOST_TEXT = 64 * 1024
_NAME = re.compile(rb';\s*name\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]+))', re.IGNORECASE)
_FILE = re.compile(rb";\s*filename\*?\s*=", re.IGNORECASE)
_BOUNDARY = re.compile(rb'boundary\s*=\s*(?:"([^"]{1,70})"|([^\s;"]{1,70}))', re.IGNORECASE)


def boundary_of(content_type: bytes) -> bytes | None:
    """Return the boundary that a multipart content type names."""
    found = _BOUNDARY.search(content_type)
    return None if found is None else found[1] or found[2]


class FieldWatch:
    """Feed it the body's pieces; it returns what may pass on and calls ``seen`` with each value of ``field``.

    ``seen`` may raise to stop the upload, and so may ``absent``, called before the last boundary passes where there
    was no such field. ``text`` is called with each other value that is no file and returns what passes instead; bytes
    that are not UTF-8 are surrogates in it. Raise CallError 400 on a body that two readers could read differently,
    413 on a value that is longer than what is looked at.
    """

    def __init__(
        self,
        boundary: bytes,
        field: bytes,
        seen: Callable[[str], None],
        absent: Callable[[], None] | None = None,
        text: Callable[[str], str] | None = None,
    ) -> None:
        self._mark = b"\r\n--" + boundary
        self._field = field
        self._seen = seen
        self._absent = absent
        self._text = text
        self._swap: tuple[int, int, bytes] | None = None  # what the last step wants in the place of what it read
        self._rest = b"\r\n"  # the first boundary has no line end before it; with one they are all alike
        self._fresh = 2  # how much of the rest is not the client's
        self._state = "preamble"
        self.found = False

    def feed(self, piece: bytes) -> bytes:
        """Return the bytes that may pass on."""
        data = self._rest + piece
        at = 0
        while True:
            step = self._step(data, at)
            if step is None:
                break
            if self._swap is not None:
                start, end, value = self._swap
                self._swap = None
                data = data[:start] + value + data[end:]
                step = start + len(value)
            at = step
        # In the data of a part or the preamble only what could be the start of a boundary is held back.
        if self._state in ("preamble", "data"):
            at = max(at, len(data) - len(self._mark) + 1)
        elif self._state == "epilogue":
            at = len(data)
        self._rest = data[at:]
        passed, self._fresh = data[min(self._fresh, at) : at], max(0, self._fresh - at)
        return passed

    def finish(self) -> None:
        """Take the body's end. Raise CallError 400 where it came too soon; some of it has not passed on then."""
        if self._state != "epilogue":
            raise _bad("it ends before its last boundary")

    def _step(self, data: bytes, at: int) -> int | None:
        """Move over one element and return where the next begins; None where more is needed."""
        if self._state in ("preamble", "data"):
            mark = self._next_mark(data, at)
            if mark is not None:
                self._state = "mark"
            return mark
        if self._state == "mark":
            return self._boundary(data, at)
        if self._state == "head":
            return self._head(data, at)
        if self._state == "value":
            return self._value(data, at)
        if self._state == "text":
            return self._said(data, at)
        return None

    def _next_mark(self, data: bytes, at: int) -> int | None:
        """Return where the next boundary begins. One after a bare line feed is one to some readers: refuse it."""
        feed = data.find(self._mark[1:], at)
        if feed < 0:
            return None
        if feed == 0 or data[feed - 1 : feed] != b"\r":
            raise _bad("a boundary follows a bare line feed")
        return feed - 1

    def _boundary(self, data: bytes, at: int) -> int | None:
        after = at + len(self._mark)
        end = data.find(b"\r\n", after)
        tail = data[after : after + 2]
        if tail == b"--":
            if not self.found and self._absent is not None:
                self._absent()
            self._state = "epilogue"
            return len(data)
        if end < 0:
            if len(data) - after > 256:
                raise _bad("a boundary line is too long")
            return None
        if data[after:end].strip(b" \t"):
            raise _bad("a line only begins like a boundary")
        self._state = "head"
        return end

    def _head(self, data: bytes, at: int) -> int | None:
        # ``at`` is at the line end before the head, so an empty head is one empty line as well.
        end = data.find(b"\r\n\r\n", at)
        if end < 0:
            if len(data) - at > _MOST_HEAD:
                raise _bad("a part's head is too long")
            return None
        if end - at > _MOST_HEAD:
            raise _bad("a part's head is too long")
        head = data[at:end]
        if len(re.findall(rb"[\r\n]", head)) != 2 * head.count(b"\r\n") or b"\\" in head:
            raise _bad("a part's head holds a bare line end or an escape")
        unfolded = re.sub(rb"\r\n[ \t]+", b" ", head)
        names = [
            found[1] if found[1] is not None else found[2]
            for line in unfolded.split(b"\r\n")
            if line.lower().startswith(b"content-disposition")
            for found in _NAME.finditer(line)
        ]
        if len(names) > 1 or b"name*" in unfolded.lower():
            raise _bad("a part has more than one name")
        if names and names[0].strip().lower() == self._field:
            self._state = "value"
        else:
            self._state = "data" if self._text is None or _FILE.search(unfolded) else "text"
        return end + 2  # the line end before the data may already be a boundary's own

    def _value(self, data: bytes, at: int) -> int | None:
        end = self._next_mark(data, at)
        if end is None:
            if len(data) - at > _MOST_VALUE + len(self._mark):
                raise _bad("the model's name is too long")
            return None
        try:
            value = data[at + 2 : end].decode()
        except UnicodeDecodeError:
            raise _bad("the model's name is not text") from None
        self.found = True
        self._seen(value.strip())
        self._state = "mark"
        return end

    def _said(self, data: bytes, at: int) -> int | None:
        assert self._text is not None
        end = self._next_mark(data, at)
        if (len(data) if end is None else end) - at > _MOST_TEXT + len(self._mark):
            raise CallError("a field of the form is too long to be looked through", status=413, code="too_large")
        if end is None:
            return None
        value = data[at + 2 : end]
        passed = self._text(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if passed != value:
            self._swap = (at + 2, end, passed)
        self._state = "mark"
        return end


def _bad(what: str) -> CallError:
    return CallError(f"the multipart body cannot be read: {what}", code="invalid_multipart")
