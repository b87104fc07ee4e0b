"""Turn the text of a file into plain values and the place of each, in one pass over the parser's events.

No call stack grows with the nesting of the input, aliases are expanded within a bound, and whatever readers
of YAML usually pass over in silence (duplicate keys, tags, old booleans) becomes a diagnostic.
JSON goes the same way, being a subset.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from edgeinf.core.config.diagnostic import Diagnostic, KeyPath, Site, Span
from edgeinf.core.config.syntax import BREAK

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_VALUES", "Raw", "Source", "read_source"]

MAX_BYTES = 10 * 2**20
MAX_DEPTH = 64
MAX_VALUES = 200_000

# What YAML does not allow. The rest of it needs a table that takes longer to make than a file takes to read.
_CONTROL = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]")
_BEYOND = "[\ud800-\udfff\ufffe\uffff]"
_BRACKET = re.compile(r"[\[\]{}]")
_MAX_BRACKETS = 500
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")


@dataclass(frozen=True, slots=True)
class Raw:
    """A scalar as written, kept where it refers to a variable or is empty."""

    text: str
    plain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file: its values, the site of each by path, and what was wrong with its form."""

    name: str
    text: str
    tree: dict[str, Any] = field(default_factory=dict)
    sites: dict[KeyPath, Site] = field(default_factory=dict)
    raws: dict[KeyPath, Raw] = field(default_factory=dict)
    faults: tuple[Diagnostic, ...] = ()
    broken: bool = False
    """Whether the form is so bad that nothing can be said about the content."""

    def lines(self) -> list[str]:
        """Return the lines of the text, broken where positions count them."""
        return BREAK.split(self.text)


def read_source(data: bytes | str, name: str) -> Source:
    """Read a file's bytes. Never raises on any content."""
    if isinstance(data, bytes):
        if len(data) > MAX_BYTES:
            return _hopeless(name, "", "E001", f"the file is larger than {MAX_BYTES >> 20} MiB", Span(1, 1, 1, 1))
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = data[: error.start].decode("utf-8", "replace")
            where = _span_at(before, len(before))
            return _hopeless(name, "", "E001", "the file is not UTF-8 text", where)
    else:
        text = data.removeprefix("\ufeff")
    forbidden = _forbidden(text)
    if forbidden is not None:
        what = f"the control character U+{ord(text[forbidden]):04X} is not allowed"
        return _hopeless(name, text, "E001", what, _span_at(text, forbidden))
    deep = _too_deep(text)
    if deep is not None:
        what = f"brackets are nested more than {_MAX_BRACKETS} deep"
        return _hopeless(name, text, "E010", what, _span_at(text, deep))
    from edgeinf.core.config.events import Builder

    return Builder(name, _PAIR.sub(_join_pair, text) if "\\ud" in text or "\\uD" in text else text).build()


def _forbidden(text: str) -> int | None:
    """Return where the first character stands that no file may hold."""
    found = [_CONTROL.search(text), None if text.isascii() else re.search(_BEYOND, text)]
    return min((one.start() for one in found if one is not None), default=None)


def _too_deep(text: str) -> int | None:
    """Return where brackets pile up so high that the parser's time grows with the square of their number."""
    depth = 0
    for found in _BRACKET.finditer(text):
        depth += 1 if found[0] in "[{" else -1 if depth else 0
        if depth > _MAX_BRACKETS:
            return found.start()
    return None


def _join_pair(found: re.Match[str]) -> str:
    """Write the two halves that JSON needs for one code point beyond U+FFFF as YAML does."""
    pair = int(found[1], 16) - 0xD800, int(found[2], 16) - 0xDC00
    return f"\\U{0x10000 + (pair[0] << 10) + pair[1]:08x}"


def _span_at(text: str, offset: int) -> Span:
    lines = BREAK.split(text[:offset])
    return Span(len(lines), len(lines[-1]) + 1, len(lines), len(lines[-1]) + 2)


def _hopeless(name: str, text: str, code: str, message: str, span: Span, help: str | None = None) -> Source:
    fault = Diagnostic(code=code, severity="error", message=message, span=span, help=help)
    return Source(name=name, text=text, faults=(fault,), broken=True)
