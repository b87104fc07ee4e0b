"""Lower-case natural language; leave identifiers, command flags, quotes, code spans, URLs and paths alone.

``str.lower``, never ``casefold``, which makes ``masse`` of ``Maße``. An identifier is a word with a capital inside
and small letters (``GetUser``, ``mL``, ``NaCl``; but not the plural ``PDFs``), or with a capital and an underscore.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.shape import Span, shape_of

__all__ = ["RULE"]

# In the shape of ASCII text: a capital inside a word or behind a dash; where an underscore makes a constant, any.
_INSIDE = re.compile(rb"A(?:A|(?<=[a0_-]A))")
_INSIDE_OR_FIRST = re.compile(rb"A(?:[aA0_-]|(?<=[a0_-]A))")
# The same where a character beyond ASCII may be a letter or not.
_HIDDEN = re.compile(rb"A(?:[A?]|(?<=[a0_?-]A))")
_HIDDEN_OR_FIRST = re.compile(rb"A(?:[aA0_?-]|(?<=[a0_?-]A))")
_ASCII = bytes(range(128))
# Sigma's small form depends on where it stands; letters in circles are no words.
_ODD = "Σ" + "".join(map(chr, range(0x24B6, 0x24D0)))
_REST = re.compile(r"[\w-]*+")
_WORD_BYTES = b"aA0_-"
_WORD_END = re.compile(rb"[aA0_-]*+")
_FLAG_OR_WORD = re.compile(r"(?<![^\s(])-[A-Z][\w-]*|\w+")
_PLURAL = re.compile(r"[A-Z]{2,}s")


def _apply(text: str) -> str:
    if not text.isascii():
        if text == text.lower():
            return text
        return spans.outside(text, _lowered)
    shape = shape_of(text)
    if b"A" not in shape:
        return text
    parts = spans.parted(text)
    done = [*parts]
    done[::2] = map(str.lower, parts[::2])
    inside = _INSIDE_OR_FIRST if "_" in text else _INSIDE
    capital = inside.search(shape)
    for number, words in _kept(text, shape, parts, inside.finditer(shape, capital.start())).items() if capital else ():
        done[number] = _patched(done[number], parts[number], words)
    lowered = "".join(done)
    spans.parted.note(lowered, done)  # in ASCII, the case of letters moves no span
    return lowered


def _lowered(part: str) -> str:
    """Return a part of a text beyond ASCII in small letters, but for identifiers and flags."""
    lowered = part.lower()
    if lowered == part:
        return part
    if len(lowered) != len(part) or any(map(part.__contains__, _ODD)):
        return _FLAG_OR_WORD.sub(_lower_word, part)
    if _beyond_ascii(part) == _beyond_ascii(lowered):
        return _patched(lowered, part, _words_seen(part))
    kept = {word for word in set(_FLAG_OR_WORD.findall(part)) if _stays(word)}
    words = [found.span() for found in _FLAG_OR_WORD.finditer(part) if found.group() in kept] if kept else []
    return _patched(lowered, part, words)


def _words_seen(part: str) -> list[Span]:
    """Return where identifiers and flags are in a text whose capitals are all ASCII, as its shape shows them."""
    words: list[Span] = []
    cursor = 0
    for capital in (_HIDDEN_OR_FIRST if "_" in part else _HIDDEN).finditer(shape_of(part)):
        at = capital.start()
        if at < cursor:
            continue
        word = at
        while word and (part[word - 1].isalnum() or part[word - 1] in "_-"):
            word -= 1
        found = _REST.match(part, at)
        cursor = found.end() if found else at + 1
        words += (token.span() for token in _FLAG_OR_WORD.finditer(part, word, cursor) if _stays(token.group()))
    return words


def _beyond_ascii(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII)


def _kept(text: str, shape: bytes, parts: list[str], capitals: Iterable[re.Match[bytes]]) -> dict[int, list[Span]]:
    """Return where identifiers and flags stand outside the protected spans of ASCII text, by the part's number."""
    kept: dict[int, list[Span]] = {}
    number, start, end = 0, 0, len(parts[0])
    cursor = 0
    for capital in capitals:
        at = capital.start()
        while end <= at:
            number, start, end = number + 1, end, end + len(parts[number + 1])
        if number % 2 or at < cursor:
            continue
        word = at
        while word > start and shape[word - 1] in _WORD_BYTES:
            word -= 1
        cursor = _word_end(shape, at, end)
        for found in _FLAG_OR_WORD.finditer(text, word, cursor):
            if _stays(found.group()):
                kept.setdefault(number, []).append((found.start() - start, found.end() - start))
    return kept


def _patched(lowered: str, text: str, words: list[Span]) -> str:
    """Return the lowered text with some words as they were."""
    pieces: list[str] = []
    cursor = 0
    for start, end in words:
        pieces += (lowered[cursor:start], text[start:end])
        cursor = end
    return "".join((*pieces, lowered[cursor:])) if pieces else lowered


def _word_end(shape: bytes, at: int, limit: int) -> int:
    found = _WORD_END.match(shape, at, limit)
    return found.end() if found else at


def _lower_word(found: re.Match[str]) -> str:
    word = found.group()
    return word if _stays(word) else word.lower()


def _stays(word: str) -> bool:
    return word[0] == "-" or _is_identifier(word)


def _is_identifier(word: str) -> bool:
    if "_" in word:
        return word != word.lower()
    return word[1:] != word[1:].lower() and word != word.upper() and not _PLURAL.fullmatch(word)


RULE = Rule(name="lower-case", apply=_apply, changes_meaning=True)
