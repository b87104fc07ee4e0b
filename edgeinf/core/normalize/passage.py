"""Bring one message's text into normal form: rules outside code fences, then its two ends."""

from __future__ import annotations

import msgspec

from edgeinf.core.normalize import edges, fences
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.folding import INVISIBLE, JOINERS, VIEW, holder

__all__ = ["Passage"]

_APOSTROPHE = "’"
# What a round replaces may be part of something that the next round finds; an apostrophe is part of nothing.
_unsettling = holder([point for point in {*VIEW, *map(ord, INVISIBLE + JOINERS)} if chr(point) != _APOSTROPHE])


def _settled(text: str) -> bool:
    """Return whether one round is enough for a text whose form is ASCII."""
    return text.isascii() or text.replace(_APOSTROPHE, "").isascii() or not _unsettling(text)


class Passage(msgspec.Struct, frozen=True, kw_only=True):
    """The rules for one kind of text. ``text`` runs on every piece, ``opening`` and ``ending`` at a message's ends.

    Rules that replace characters can open the way for each other, or for a code fence; a few rounds settle all but
    contrived texts, which then keep the form of the rules that cannot change meaning.
    """

    text: tuple[Rule, ...] = ()
    opening: tuple[Rule, ...] = ()
    ending: tuple[Rule, ...] = ()
    rounds: int = 0  # times to try for a form that stays; 0 where each rule only adds to what the others did

    def normal(self, text: str, *, first: bool = True, last: bool = True, fence: str = "") -> str:
        """Return the normal form; idempotent. ``fence`` is the code fence in which the text begins, if any."""
        done = self._once(text, first, last, fence)
        if not self.rounds:
            return done
        if done.isascii() and not fences.may_hold(done) and _settled(text):
            return done
        for _ in range(self.rounds):
            before, done = done, self._once(done, first, last, fence)
            if done == before:
                return done
        plain = tuple(rule for rule in self.text if not rule.changes_meaning)
        return Passage(text=plain)._once(text, first, last, fence)

    def _once(self, text: str, first: bool, last: bool, fence: str) -> str:
        if not fence and not fences.may_hold(text):
            return self._ends(self._piece(text), first, last)
        pieces, still_open = fences.split_from(text, fence)
        if len(pieces) == 1 and not pieces[0][0]:
            return self._ends(self._piece(text), first, last)
        done = [piece if code else self._piece(piece) for code, piece in pieces]
        if first and not pieces[0][0]:
            done[0] = edges.trim_start(done[0]) if done[0].strip() else ""
            for rule in self.opening:
                done[0] = rule.apply(done[0])
        if last and pieces[-1][0]:
            # what follows a closing fence on its line is outside it
            done[-1] = done[-1] if still_open else edges.trim_end(done[-1])
        elif last:
            done[-1] = edges.trim_end(done[-1]) if done[-1].strip() else ""
            for rule in self.ending:
                done[-1] = rule.apply(done[-1])
            if not done[-1] and len(pieces) > 1:
                done[-2] = edges.trim_end(done[-2])
        return "".join(done)

    def _piece(self, text: str) -> str:
        for rule in self.text:
            text = rule.apply(text)
        return text

    def _ends(self, text: str, first: bool, last: bool) -> str:
        text = edges.trim_start(text) if first else text
        text = edges.trim_end(text) if last else text
        for rule in self.opening if first else ():
            text = rule.apply(text)
        for rule in self.ending if last else ():
            text = rule.apply(text)
        return text
