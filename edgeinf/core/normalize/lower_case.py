"""Lower-case natural language; leave identifiers, command flags, quotes, code spans, URLs and paths alone.

``str.lower``, never ``casefold``, which makes ``masse`` of ``Maße``. An identifier is a word with a capital inside
and small letters (``GetUser``, ``mL``, ``NaCl``; but not the plural ``PDFs``), or with a capital and an underscore.
"""

from __future__ import annotations

import re

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.shape import finds

__all__ = ["RULE"]

# ASCII as A for a capital, a for what else a word or a flag is made of, and a space for the rest.
_CASES = bytes(
    ord("A") if chr(byte).isupper() else ord("a") if chr(byte).isalnum() or chr(byte) in "_-" else ord(" ")
    for byte in range(256)
)
_MAYBE = (b"AA", b"aA")  # a capital inside a word, or behind a dash
_MAYBE_CONSTANT = (b"AA", b"aA", b"Aa")
_OUTSIDE = ord(" ")
_FLAG_OR_WORD = re.compile(r"(?<![^\s(])-[A-Z][\w-]*|\w+")
_PLURAL = re.compile(r"[A-Z]{2,}s")


def _apply(text: str) -> str:
    lowered = text.lower()
    if text == lowered:
        return text
    if not text.isascii():
        return spans.outside(text, lambda part: _FLAG_OR_WORD.sub(_lower_word, part))
    done = ""
    cursor = 0
    for start, end in _kept(text):
        done += lowered[cursor:start] + text[start:end]
        cursor = end
    return done + lowered[cursor:]


def _kept(text: str) -> list[tuple[int, int]]:
    """Return what stays as it is in ASCII text: protected spans and words that may be identifiers or flags."""
    protected = spans.protected(text)
    shape = text.encode().translate(_CASES)
    maybe = finds(shape, _MAYBE_CONSTANT if "_" in text else _MAYBE)
    if not maybe:
        return protected
    edges = [*protected, (len(text), len(text))]
    kept: list[tuple[int, int]] = []
    cursor = 0
    ahead = 0
    for at in maybe:
        while edges[ahead][1] <= at:
            kept.append(edges[ahead])
            cursor = edges[ahead][1]
            ahead += 1
        if at < cursor or at >= edges[ahead][0]:
            continue
        start = at
        while start > cursor and shape[start - 1] != _OUTSIDE:
            start -= 1
        end = at + 1
        while end < edges[ahead][0] and shape[end] != _OUTSIDE:
            end += 1
        kept += [
            (found.start(), found.end())
            for found in _FLAG_OR_WORD.finditer(text, start, end)
            if found.group() == _lower_word(found)
        ]
        cursor = end
    return kept + edges[ahead:-1]


def _lower_word(found: re.Match[str]) -> str:
    word = found.group()
    return word if word[0] == "-" or _is_identifier(word) else word.lower()


def _is_identifier(word: str) -> bool:
    if "_" in word:
        return word != word.lower()
    return word[1:] != word[1:].lower() and word != word.upper() and not _PLURAL.fullmatch(word)


RULE = Rule(name="lower-case", apply=_apply, changes_meaning=True)
