"""Patterns that a text must not hold, searched within a bound on time.

The ``regex`` engine stops at a deadline. A first look is short and happens at once; what needs longer goes to a
thread, where the engine lets go of the interpreter. A pattern that does not come to an end counts as found: a text
that makes it run for ever was made to.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

import msgspec
import regex

from edgeinf.core.config.schema import DenyRule

__all__ = ["WINDOW", "Denied", "DenyPatterns", "DenyStream"]

# A text that arrives in pieces is searched in blocks of this many characters, each with the one before it.
WINDOW = 256

_FIRST_LOOK_S = 0.002
_PATIENCE_S = 0.1
_PER_CHARACTER_S = 1e-6
_SMALL = 64 * 1024
# Flags at the start, and escaped characters, which repeat nothing.
_NO_REPEAT = re.compile(r"\A\(\?[aimsux]+\)|\\.", re.DOTALL)
_MOST_BRANCHES = 4


class Denied(msgspec.Struct, frozen=True):
    """A pattern that was found: its place in the config, what to do, and whether it ran out of time instead."""

    number: int
    block: bool
    timed_out: bool = False

    @property
    def verdict(self) -> str:
        """Return what events say."""
        what = "blocked" if self.block else "flagged"
        return f"{what} deny[{self.number}]{' (out of time)' if self.timed_out else ''}"


class DenyPatterns:
    """Every pattern of a list of rules, compiled once."""

    def __init__(self, rules: Sequence[DenyRule]) -> None:
        self._rules = [
            (regex.compile(rule.pattern), rule.action == "block", _is_bounded(rule.pattern)) for rule in rules
        ]

    def __bool__(self) -> bool:
        return bool(self._rules)

    async def search(self, texts: Sequence[str]) -> list[Denied]:
        """Return which patterns are in any of the texts."""
        if sum(map(len, texts)) <= _SMALL:
            found = self._look(texts, _FIRST_LOOK_S)
            if found is not None:
                return found
        return await asyncio.to_thread(self._look_long, texts)

    def search_now(self, text: str) -> list[Denied]:
        """Return which patterns are in a short text, without awaiting."""
        return [
            Denied(number, block, timed_out)
            for number, (pattern, block, bounded) in enumerate(self._rules)
            for hit, timed_out in [_search(pattern, text, None if bounded else 10 * _FIRST_LOOK_S)]
            if hit
        ]

    def stream(self) -> DenyStream:
        """Return a search through a text that arrives in pieces."""
        return DenyStream(self)

    def _look(self, texts: Sequence[str], timeout_s: float) -> list[Denied] | None:
        """Return what was found, or None where it takes longer."""
        found = []
        for number, (pattern, block, bounded) in enumerate(self._rules):
            for text in texts:
                hit, timed_out = _search(pattern, text, None if bounded else timeout_s)
                if timed_out:
                    return None
                if hit:
                    found.append(Denied(number, block))
                    break
        return found

    def _look_long(self, texts: Sequence[str]) -> list[Denied]:
        found = []
        for number, (pattern, block, _) in enumerate(self._rules):
            for text in texts:
                patience_s = _PATIENCE_S + _PER_CHARACTER_S * len(text)
                hit, timed_out = _search(pattern, text, patience_s, concurrent=True)
                if hit:
                    found.append(Denied(number, block, timed_out))
                    break
        return found


class DenyStream:
    """Feed it pieces; it returns the text that was searched clean, and what was found.

    Blocks are counted from the start of the text, so the result does not depend on how it was cut. A match of up to
    ``WINDOW`` characters is always found before any of it was returned.
    """

    __slots__ = ("_patterns", "_rest", "found")

    def __init__(self, patterns: DenyPatterns) -> None:
        self._patterns = patterns
        self._rest = ""
        self.found: list[Denied] = []

    def feed(self, piece: str) -> str:
        """Return the text that is settled."""
        self._rest += piece
        out = []
        while len(self._rest) >= 2 * WINDOW:
            self._note(self._rest[: 2 * WINDOW])
            out.append(self._rest[:WINDOW])
            self._rest = self._rest[WINDOW:]
        return "".join(out)

    def close(self) -> str:
        """Return what was held back."""
        rest, self._rest = self._rest, ""
        if rest:
            self._note(rest)
        return rest

    def _note(self, window: str) -> None:
        known = {denied.number for denied in self.found}
        self.found += [denied for denied in self._patterns.search_now(window) if denied.number not in known]


def _is_bounded(pattern: str) -> bool:
    """Return whether a pattern surely takes few steps at each place, so that no clock is needed: nothing repeats.

    Setting the clock takes longer than searching a short text.
    """
    bare = _NO_REPEAT.sub("", pattern)
    return not any(map(bare.__contains__, "*+?{")) and bare.count("|") <= _MOST_BRANCHES


def _search(
    pattern: regex.Pattern[str], text: str, timeout_s: float | None, *, concurrent: bool = False
) -> tuple[bool, bool]:
    """Return (found, ran out of time); running out counts as found."""
    if timeout_s is None:
        return pattern.search(text) is not None, False
    try:
        return pattern.search(text, timeout=timeout_s, concurrent=concurrent) is not None, False
    except TimeoutError:
        return True, True
