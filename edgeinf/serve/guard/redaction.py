"""Take e-mail addresses, phone numbers, card numbers and secrets out of a text, whole or as it arrives.

Every form but a secret's is bounded in length, and all are ASCII. So a text that arrives in pieces needs holding back
only where its end could be the start of one, and comes out the same however it was cut.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache

from edgeinf.core.normalize.shape import shape_of
from edgeinf.core.redact import KEY_FORMS

__all__ = ["WINDOW", "RedactedStream", "Redactor"]

# The longest form that is found, and so the most that is held back.
WINDOW = 384

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_EMAIL = rf"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{{1,64}}@(?:{_LABEL}\.){{1,4}}[A-Za-z]{{2,24}}(?![A-Za-z0-9-])"
_CARD = r"(?<![A-Za-z0-9.-])[2-6][0-9](?:[ -]?[0-9]){11,17}(?![A-Za-z0-9]|[.-][0-9])"
_PHONE = r"(?<![A-Za-z0-9.+(-])[+(]?[0-9](?:[ ().-]{0,2}[0-9]){6,14}(?![A-Za-z0-9]|[.-][0-9])"
_SECRET = rf"(?<![A-Za-z0-9])(?:{KEY_FORMS})"
_FORMS = {"secrets": _SECRET, "email": _EMAIL, "credit-card": _CARD, "phone": _PHONE}

# National numbers as they are written: North America, and those that begin with a trunk 0 or an area code in brackets.
_NATIONAL = re.compile(
    r"\(?[2-9][0-9]{2}\)?[ .-]?[ ]?[2-9][0-9]{2}[ .-][0-9]{4}|0[0-9]{1,4}[ /-][0-9 -]{5,12}|0[1-9](?:[ .-][0-9]{2}){4}"
    r"|\(0?[0-9]{2,4}\) ?[0-9]{3,5}[ .-]?[0-9]{4}"
)
# The forms of numbers in a text's shape, which begin with one byte and so are found far faster than in the text.
_NUMBERS = {
    "credit-card": re.compile(rb"0(?<![aA0.-]0)0(?:[ -]?0){11,17}(?![aA0]|[.-]0)"),
    "phone": re.compile(rb"0(?:(?<![aA0.+(-]0)|(?<=[+(]0)(?<![aA0.+(-][+(]0))(?:[ ().-]{0,2}0){6,14}(?![aA0]|[.-]0)"),
}
# What an address has around its @.
_AT = re.compile(r"@(?<=[A-Za-z0-9._%+-]@)[A-Za-z0-9][A-Za-z0-9-]*+\.[A-Za-z0-9]")
# How the forms of secrets begin, by a character that each of them holds: most texts hold neither.
_PREFIXES = {
    "-": ("sk-", "xox", "xai-", "nvapi-", "pplx-", "ek-"),
    "_": ("gsk_", "gh", "github_pat_", "hf_", "r8_"),
    "A": ("AIza", "AKIA"),
}
_DIGIT = re.compile(r"[0-9]")
_TAIL = re.compile(r"(?:[+(]?[0-9][0-9 ().+-]{0,48})?[!-~]*\Z")
_IN_WORD = bytes(range(ord("!"), ord("~") + 1)).decode()
_IN_NUMBER = "0123456789 ().+-"
_KEY_TAIL = re.compile(r"[A-Za-z0-9_-]*")


class Redactor:
    """Finds the kinds of ``guard.redact`` and puts ``[email]``, ``[phone]``, ``[card]`` or ``[secret]`` instead."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kinds = tuple(kind for kind in _FORMS if kind in kinds)

    def __call__(self, text: str, found: Counter[str] | None = None) -> str:
        """Return the text without what was looked for; ``found`` counts it by kind."""
        return self.part(text, 0, len(text), found)[0]

    def part(self, text: str, start: int, end: int, found: Counter[str] | None) -> tuple[str, int, bool]:
        """Redact what begins from ``start`` up to ``end``.

        Return the redacted text, where in ``text`` it ends, and whether it ends in a secret that may go on.
        """
        possible = tuple(kind for kind in self.kinds if _possible(kind, text))
        out, at = [], start
        for match in _pattern(possible).finditer(text, start) if possible else ():
            if match.start() >= end:
                break
            kind = str(match.lastgroup).replace("_", "-")
            if not _is_one(kind, match[0]):
                out.append(text[at : match.end()])
                at = match.end()
                continue
            out += [text[at : match.start()], f"[{_SHOWN[kind]}]"]
            at = match.end()
            if found is not None:
                found[kind] += 1
            if kind == "secrets" and at == len(text):
                return "".join(out), at, True
        if at < end:
            out.append(text[at:end])
            at = end
        return "".join(out), at, False

    def stream(self, found: Counter[str] | None = None) -> RedactedStream:
        """Return a redactor for a text that arrives in pieces."""
        return RedactedStream(self, found)


class RedactedStream:
    """Feed it pieces; it returns what can no longer be part of anything, and the rest on ``close``."""

    __slots__ = ("_before", "_found", "_in_secret", "_redactor", "_rest")

    def __init__(self, redactor: Redactor, found: Counter[str] | None) -> None:
        self._redactor = redactor
        self._found = found
        self._before = ""  # the character before the rest, which decides whether a form may begin there
        self._rest = ""
        self._in_secret = False

    def feed(self, piece: str) -> str:
        """Return the text that is settled."""
        text = self._rest + piece
        if self._in_secret:
            # A secret longer than the window was replaced by its beginning: the rest of it goes as well.
            goes_on = _KEY_TAIL.match(text)
            if goes_on is not None and goes_on.end():
                self._before = text[goes_on.end() - 1]
                text = text[goes_on.end() :]
            if not text:
                self._rest = ""
                return ""
            self._in_secret = False
        # Whatever begins a window before the end is whole by now; what begins later may go on in the next piece.
        # A tail that could be the beginning of something is kept, anything before it is settled.
        return self._emit(text, _settled(text))

    def close(self) -> str:
        """Return what was held back."""
        return self._emit(self._rest, len(self._rest))

    def _emit(self, text: str, settled: int) -> str:
        if settled <= 0:
            self._rest = text
            return ""
        shown, at, self._in_secret = self._redactor.part(
            self._before + text, len(self._before), len(self._before) + settled, self._found
        )
        at -= len(self._before)
        if at:
            self._before = text[at - 1]
        self._rest = text[at:]
        return shown


_SHOWN = {"secrets": "secret", "email": "email", "credit-card": "card", "phone": "phone"}


@cache
def _pattern(kinds: tuple[str, ...]) -> re.Pattern[str]:
    """Return one pattern for all of the kinds; the first of two that begin at one place is what it is."""
    return re.compile("|".join(f"(?P<{kind.replace('-', '_')}>{_FORMS[kind]})" for kind in kinds))


def _settled(text: str) -> int:
    """Return where the tail begins that could be the beginning of something, no further than a window from the end."""
    window = max(0, len(text) - WINDOW - 2)
    last = text[window:]
    before_word = last.rstrip(_IN_WORD)
    tail = _TAIL.search(last, len(before_word.rstrip(_IN_NUMBER)))  # no earlier place can lead to the end
    return window + (tail.start() if tail is not None else len(last))


def _possible(kind: str, text: str) -> bool:
    """Return whether a text may hold a kind: far cheaper than to search it, and mostly it does not.

    Where one kind's form is nowhere, what the others find is the same without it.
    """
    if kind == "email":
        return "@" in text and _AT.search(text) is not None
    if kind == "secrets":
        for mark, starts in _PREFIXES.items():
            if mark in text:
                for start in starts:
                    if start in text:
                        return _pattern(("secrets",)).search(text) is not None
        return False
    return _NUMBERS[kind].search(shape_of(text)) is not None


def _is_one(kind: str, text: str) -> bool:
    if kind == "credit-card":
        return _luhn(text)
    if kind == "phone":
        digits = len(_DIGIT.findall(text))
        if text.startswith("+"):
            return 8 <= digits <= 15
        if text.startswith("00"):
            return 10 <= digits <= 17
        return _NATIONAL.fullmatch(text) is not None
    return True


def _luhn(text: str) -> bool:
    """Return whether the digits are a card number's: ISO/IEC 7812-1 annex B."""
    digits = [int(c) for c in text if c.isdigit()]
    doubled = [sum(divmod(2 * d, 10)) for d in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
