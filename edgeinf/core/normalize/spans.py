"""Find the spans of a text that no rule of ``loose`` may change: quotes, backticks, URLs and paths.

A span is found on a view of the text in which every character that the rules replace is replaced already, one for
one, so that a rule cannot move a span. Curly quotes that open or close are the exception: there the view keeps them,
because straight quotes may stand inside. The marks around a quotation are not part of its span: a curly quote becomes
a straight one and what it encloses stays; but for a pair that would no longer be read as a pair.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from edgeinf.core.normalize.folding import PAIRED_QUOTES, QUOTES, VIEW, folder, holder
from edgeinf.core.normalize.latest import Latest

__all__ = ["outside", "parted", "protected", "restored"]

Span = tuple[int, int]

_fold = folder(VIEW)
_fold_but_quotes = folder({point: target for point, target in VIEW.items() if point not in QUOTES})
_holds_pairs = holder(PAIRED_QUOTES)
_MARKS = re.compile(r"[`\"'/\\«‹「『“„‟‘‚‛](?<!\w')")
# In ASCII text, in patterns that begin with one character, which is found far faster than one of several.
_OPENING_SINGLE = re.compile(r"'(?<!\w')")
_ASCII_MARKS = bytes(int(chr(byte) in "`\"'/\\") for byte in range(256))
_ASCII_MARKS_BUT_SINGLE = bytes(int(chr(byte) in '`"/\\') for byte in range(256))
_QUOTED = re.compile(r'("(?<!\w")[^"]*")')
_CLOSING = {"«": "»", "‹": "›", "「": "」", "『": "』", "“": "”", "‟": "”"}
_STRAIGHT = {**dict.fromkeys("“„‟", '"'), **dict.fromkeys("‘‚‛", "'")}
_LOW_END = re.compile("[“”]")
_CURLY_SINGLE_END = re.compile(r"’(?!\w)")
_TICKS = re.compile(r"`+")
_SINGLE_END = re.compile(r"(?<=\S)'(?!\w)")
_SPACE = re.compile(r"\s")


def protected(text: str) -> list[Span]:
    """Return the spans, in order, that do not overlap."""
    return _spans(text if text.isascii() else _view(text))


def _parts(text: str) -> list[str]:
    if text.isascii() and _quotes_only(text):
        return _QUOTED.split(text) if '"' in text else [text]
    parts: list[str] = []
    cursor = 0
    for start, end in protected(text):
        parts += (text[cursor:start], text[start:end])
        cursor = end
    parts.append(text[cursor:])
    return parts


# A text in parts: what is outside, a protected span, what is outside, and so on. Marks of a quotation, which no rule
# changes once they are straight, may be in either. Not to be changed; one rule after the other asks about one text.
parted: Latest[list[str]] = Latest(_parts)


def _quotes_only(view: str) -> bool:
    """Return whether the only spans in ASCII text are between double quotes, without backslashes."""
    if "/" in view or "`" in view or "\\" in view:
        return False
    return not _opens_single(view)


def _opens_single(view: str) -> bool:
    """Return whether ASCII text holds an apostrophe that may open a quotation."""
    at = view.find("'")
    return at >= 0 and _OPENING_SINGLE.search(view, at, view.rfind("'") + 1) is not None


def _seen(text: str) -> str:
    plain = text.replace("’", "'")
    if plain.isascii():  # no typographic character is more frequent
        return plain
    return _fold_but_quotes(text) if _holds_pairs(text) else _fold(text)


_view: Latest[str] = Latest(_seen)


def _find(view: str) -> list[Span]:
    following = _marks(view)
    plain = view.isascii() and "\\" not in view  # where a double quote closes at the next one, and stays a pair
    spans: list[Span] = []
    cursor = 0
    unclosed: set[str] = set()
    at = following(0)
    while at >= 0:
        mark = view[at]
        if plain and mark == '"' and mark not in unclosed and not (at and _in_word(view[at - 1])):
            closing = view.find(mark, at + 1)
            if closing < 0:
                unclosed.add(mark)
                at = following(at + 1)
                continue
            span = (at + 1, closing)
            cursor = closing + 1
        elif mark in "/\\":
            span = _token(view, at, cursor)
            cursor = span[1]
        elif mark == "`":
            ticked = _ticked(view, at, unclosed)
            if ticked is None:
                cursor = _run_end(view, at)
                at = following(cursor)
                continue
            span = ticked
            cursor = span[1]
        elif mark in unclosed or (mark in "\"'" and _opens_nothing(view, at)):
            at = following(at + 1)
            continue
        else:
            closing = _closing(view, at, mark)
            if closing < 0:
                unclosed.add(mark)
                at = following(at + 1)
                continue
            span = (at + 1, closing) if _stays_a_pair(view, at, closing) else (at, closing + 1)
            cursor = closing + 1
        spans.append(span)
        at = following(cursor)
    return spans


_spans: Latest[list[Span]] = Latest(_find)


def _marks(view: str) -> Callable[[int], int]:
    """Return a function from a place to the next place where a span may begin, or -1."""
    if view.isascii():
        find = view.encode().translate(_ASCII_MARKS if _opens_single(view) else _ASCII_MARKS_BUT_SINGLE).find
        return lambda at: find(1, at)

    def following(at: int) -> int:
        found = _MARKS.search(view, at)  # an apostrophe in or after a word begins none
        return found.start() if found else -1

    return following


def outside(text: str, change: Callable[[str], str]) -> str:
    """Apply ``change`` to what lies outside the protected spans."""
    parts = [*parted(text)]
    parts[::2] = map(change, parts[::2])
    return "".join(parts)


def restored(text: str, changed: str) -> str:
    """Return ``changed``, which replaced characters of ``text`` one for one, with the protected spans as they were."""
    view = _view(text)
    spans = _spans(view)
    parts: list[str] = []
    cursor = 0
    for start, end in spans:
        parts += (changed[cursor:start], text[start:end])
        cursor = end
    done = "".join((*parts, changed[cursor:])) if spans else changed
    if done == view and done.isascii():
        _spans.note(done, spans)  # it is its own view
    return done


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
