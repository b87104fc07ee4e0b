"""Make JSON of what a model meant as JSON: out of its fence, closed where it breaks off, without trailing commas."""

from __future__ import annotations

import json
import re

__all__ = ["repaired"]

_FENCE = re.compile(r"```[A-Za-z0-9]*\s*\n(.*?)(?:\n\s*```|\Z)", re.DOTALL)
_CLOSERS = {"{": "}", "[": "]"}
_MOST = 1_000_000


def repaired(text: str) -> str | None:
    """Return JSON that says what the text does, or None where none can be made of it. Valid JSON stays as it is."""
    if len(text) > _MOST or _valid(text):
        return text if _valid(text) else None
    fenced = _FENCE.search(text)
    for candidate in ([fenced[1]] if fenced is not None else []) + [text]:
        start = min((at for at in (candidate.find("{"), candidate.find("[")) if at >= 0), default=-1)
        if start >= 0:
            made = _closed(candidate[start:])
            if made is not None and _valid(made):
                return made
    return None


def _valid(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _closed(text: str) -> str | None:
    """Return the value that the text begins with: commas before closers dropped, and what is open closed."""
    out: list[str] = []
    open_: list[str] = []
    quoted = escaped = False
    for letter in text:
        if quoted:
            out.append({"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(letter, letter))
            if escaped:
                escaped = False
            elif letter == "\\":
                escaped = True
            elif letter == '"':
                quoted = False
            continue
        if letter in "}]":
            if not open_ or open_[-1] != letter:
                return None
            _drop_comma(out)
            open_.pop()
        elif letter in "{[":
            open_.append(_CLOSERS[letter])
        elif letter == '"':
            quoted = True
        out.append(letter)
        if not open_:
            return "".join(out)
    if quoted:
        out.append('\\"' if escaped else '"')
        if escaped:
            out.append('"')
    _end_member(out)
    return "".join(out) + "".join(reversed(open_))


def _drop_comma(out: list[str]) -> None:
    at = len(out) - 1
    while at >= 0 and out[at].isspace():
        at -= 1
    if at >= 0 and out[at] == ",":
        del out[at]


def _end_member(out: list[str]) -> None:
    """Finish what breaks off between a key and its value, or after a comma."""
    _drop_comma(out)
    text = "".join(out).rstrip()
    if text.endswith(":"):
        out.append(" null")
    elif re.search(r'[{,]\s*"(?:[^"\\]|\\.)*"$', text) and _in_object(text):
        out.append(": null")


def _in_object(text: str) -> bool:
    """Return whether the innermost open bracket is an object's."""
    open_: list[str] = []
    for bracket in re.sub(r'"(?:[^"\\]|\\.)*"', "", text):
        if bracket in "{[":
            open_.append(bracket)
        elif bracket in "}]" and open_:
            open_.pop()
    return bool(open_) and open_[-1] == "{"
