"""Lower-case natural language; leave identifiers, command flags, quotes, code spans, URLs and paths alone.

``str.lower``, never ``casefold``, which makes ``masse`` of ``Maße``. An identifier is a word with a capital inside
and small letters (``GetUser``, ``mL``, ``NaCl``; but not the plural ``PDFs``), or with a capital and an underscore.
"""

from __future__ import annotations

import re

from edgeinf.core.normalize import spans
from edgeinf.core.normalize.base import Rule

__all__ = ["RULE"]

# A capital that is not its word's first character, begins a flag or stands before an underscore: an identifier, maybe.
_MAYBE = re.compile(r"[A-Z](?:(?<=[\w-][A-Z])|\w*_)")
_CAPITALS = re.compile(r"[A-Z][\w-]*")
_WORD = re.compile(r"\w+")
_FLAG_OR_WORD = re.compile(r"(?<![^\s(-])-[A-Z][\w-]*|\w+")
_PLURAL = re.compile(r"[A-Z]{2,}s")


def _apply(text: str) -> str:
    return text if text == text.lower() else spans.outside(text, _lower)


def _lower(part: str) -> str:
    if not part.isascii():
        return _FLAG_OR_WORD.sub(_lower_word, part)
    return _lower_ascii(part) if _MAYBE.search(part) else part.lower()


def _lower_ascii(part: str) -> str:
    """Lower all but identifiers and flags, looking only at the words that have a capital."""
    done: list[str] = []
    cursor = 0
    for found in _CAPITALS.finditer(part):
        start, end = found.span()
        if start < cursor:
            continue
        while start > cursor and (part[start - 1].isalnum() or part[start - 1] == "_"):
            start -= 1
        dash = part[start - 1 : start] == "-" and part[start].isupper()
        if dash and (start == 1 or part[start - 2] in " \t\n(-"):
            kept = end  # a flag: -V, --Xmx
        else:
            word = _WORD.match(part, start)
            end = word.end() if word else end
            kept = end if _is_identifier(part[start:end]) else start
        if kept > start:
            done += (part[cursor:start].lower(), part[start:kept])
            cursor = kept
    done.append(part[cursor:].lower())
    return "".join(done)


def _lower_word(found: re.Match[str]) -> str:
    word = found.group()
    return word if word[0] == "-" or _is_identifier(word) else word.lower()


def _is_identifier(word: str) -> bool:
    if "_" in word:
        return word != word.lower()
    return word[1:] != word[1:].lower() and word != word.upper() and not _PLURAL.fullmatch(word)


RULE = Rule(name="lower-case", apply=_apply, changes_meaning=True)
