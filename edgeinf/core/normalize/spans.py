"""Find the spans of a text that no rule of ``loose`` may change: quotes, backticks, URLs and paths.

A span is found on a view of the text in which every character that the rules replace is replaced already, one for
one, so that a rule cannot move a span. Curly quotes that open or close are the exception: there the view keeps them,
because straight quotes may stand inside. The marks around a quotation are not part of its span: a curly quote becomes
a straight one and what it encloses stays; but for a pair that would no longer be read as a pair.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from edgeinf.core.normalize.folding import PAIRED_QUOTES, QUOTES, VIEW, folder, holder

__all__ = ["outside", "protected", "restored"]

Span = tuple[int, int]

_fold = folder(VIEW)
_fold_but_quotes = folder({point: target for point, target in VIEW.items() if point not in QUOTES})
_holds_pairs = holder(PAIRED_QUOTES)
_MARKS = re.compile(r"[`\"'/\\«‹「『“„‟‘‚‛](?<!\w')")  # an apostrophe in or after a word opens nothing
_ASCII_MARKS = bytes(int(chr(byte) in "`\"'/\\") for byte in range(256))
_CLOSING = {"«": "»", "‹": "›", "「": "」", "『": "』", "“": "”", "‟": "”"}
_STRAIGHT = {**dict.fromkeys("“„‟", '"'), **dict.fromkeys("‘‚‛", "'")}
_LOW_END = re.compile("[“”]")
_CURLY_SINGLE_END = re.compile(r"’(?!\w)")
_TICKS = re.compile(r"`+")
_SINGLE_END = re.compile(r"(?<=\S)'(?!\w)")
_SPACE = re.compile(r"\s")


def protected(text: str) -> list[Span]:
    """Return the spans, in order, that do not overlap."""
    if text.isascii():
        return _spans(text)
    return _spans(_fold_but_quotes(text) if _holds_pairs(text) else _fold(text))


@lru_cache(maxsize=1)  # one rule after the other asks about one text, and no rule changes its view
def _spans(view: str) -> list[Span]:
    spans: list[Span] = []
    cursor = 0
    unclosed: set[str] = set()
    for at in _marks(view):
        mark = view[at]
        if at < cursor:
            continue
        if mark in "/\\":
            span = _token(view, at, cursor)
        elif mark == "`":
            ticked = _ticked(view, at, unclosed)
            if ticked is None:
                cursor = _run_end(view, at)
                continue
            span = ticked
        elif mark in unclosed or (mark in "\"'" and _opens_nothing(view, at)):
            continue
        else:
            closing = _closing(view, at, mark)
            if closing < 0:
                unclosed.add(mark)
                continue
            span = (at + 1, closing) if _stays_a_pair(view, at, closing) else (at, closing + 1)
        spans.append(span)
        # a closing quote is passed over; a token and a code span already end behind themselves
        cursor = span[1] if mark in "/\\`" or span[0] == at else span[1] + 1
    return spans


def _marks(view: str) -> list[int]:
    """Return where a span may begin; an apostrophe in or after a word begins none."""
    if not view.isascii():
        return [found.start() for found in _MARKS.finditer(view)]
    shape = view.encode().translate(_ASCII_MARKS)
    places = []
    at = shape.find(1)
    while at >= 0:
        if view[at] != "'" or not at or not (view[at - 1].isalnum() or view[at - 1] == "_"):
            places.append(at)
        at = shape.find(1, at + 1)
    return places


def outside(text: str, change: Callable[[str], str]) -> str:
    """Apply ``change`` to what lies outside the protected spans."""
    spans = protected(text)
    if not spans:
        return change(text)
    parts: list[str] = []
    cursor = 0
    for start, end in spans:
        parts += (change(text[cursor:start]), text[start:end])
        cursor = end
    parts.append(change(text[cursor:]))
    return "".join(parts)


def restored(text: str, changed: str) -> str:
    """Return ``changed``, which replaced characters of ``text`` one for one, with the protected spans as they were."""
    spans = protected(text)
    if not spans:
        return changed
    parts: list[str] = []
    cursor = 0
    for start, end in spans:
        parts += (changed[cursor:start], text[start:end])
        cursor = end
    parts.append(changed[cursor:])
    return "".join(parts)


def _token(view: str, at: int, cursor: int) -> Span:
    """Return the run without white space around a slash: a URL, a path, a command, a formula."""
    start = at
    while start > cursor and not view[start - 1].isspace():
        start -= 1
    end = _SPACE.search(view, at)
    return start, end.start() if end else len(view)


def _run_end(view: str, at: int) -> int:
    run = _TICKS.match(view, at)
    return run.end() if run else at + 1


def _ticked(view: str, at: int, unclosed: set[str]) -> Span | None:
    """Return a code span: it closes with as many backticks as it opened with."""
    end = _run_end(view, at)
    ticks = view[at:end]
    if ticks in unclosed:
        return None
    for run in _TICKS.finditer(view, end):
        if run.group() == ticks:
            return at, run.end()
    unclosed.add(ticks)
    return None


def _escaped(view: str, start: int, at: int) -> bool:
    """Return whether a backslash takes the character at ``at`` for itself; two of them are one that takes nothing."""
    return view[at - 1] == "\\" and (at - start - len(view[start:at].rstrip("\\"))) % 2 == 1


def _closing(view: str, at: int, mark: str) -> int:
    """Return where a quotation closes, or -1. A straight quote behind a backslash does not close."""
    if mark in _CLOSING:
        return view.find(_CLOSING[mark], at + 1)
    if mark == '"':
        closing = view.find('"', at + 1)
        while closing > 0 and _escaped(view, at + 1, closing):
            closing = view.find('"', closing + 1)
        return closing
    if mark == "'":
        end, at = _SINGLE_END, at + 1  # an apostrophe inside a word does not close, nor does an empty quotation
    else:
        end = _LOW_END if mark == "„" else _CURLY_SINGLE_END
    found = end.search(view, at + 1)
    return found.start() if found else -1


def _opens_nothing(view: str, at: int) -> bool:
    """Return whether a straight quote is an apostrophe or an inch."""
    return (at > 0 and _in_word(view[at - 1])) or (view[at] == "'" and view[at + 1 : at + 2].isspace())


def _stays_a_pair(view: str, at: int, closing: int) -> bool:
    """Return whether the marks of a quotation, made straight, would still enclose the same."""
    straight = _STRAIGHT.get(view[at])
    if straight is None:
        return True
    if at and _in_word(view[at - 1]):
        return False
    inside = view[at + 1 : closing]
    if straight == '"':
        return '"' not in inside
    return bool(inside) and not inside[0].isspace() and not inside[-1].isspace() and not _SINGLE_END.search(inside)


def _in_word(char: str) -> bool:
    """Return whether a quote after this character is an apostrophe or an inch; CJK text opens quotes anywhere."""
    return char == "_" or (char.isalnum() and char < "\u2e80")
