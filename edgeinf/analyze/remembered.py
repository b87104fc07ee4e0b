"""Levels that remember the texts they have seen: system prompts repeat, and a masked one repeats far more often.

The results are the level's own. Only this is known of it: on ASCII text that can hold no code fence, a passage applies
its rules one after the other, and what comes before the masks leaves their results alone. So a text that the masks
made equal to an earlier one has the earlier one's loose form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import xxhash

from edgeinf.core.normalize import fences
from edgeinf.core.normalize.levels import Level, level
from edgeinf.core.normalize.passage import Passage

__all__ = ["RememberingLevel", "Texts", "remembering"]

Made = TypeVar("Made")

_MOST = 1_000  # texts of a generation; two are kept
_SHORTEST = 16  # shorter texts are done again sooner than looked up and kept
_LONG = 64


class Texts(Generic[Made]):
    """What was made of texts (never None), the latest two generations. Long texts are known by a digest of them."""

    def __init__(self, make: Callable[[str], Made]) -> None:
        self._make = make
        self._young: dict[str | bytes, Made] = {}
        self._old: dict[str | bytes, Made] = {}

    def __call__(self, text: str) -> Made:
        if len(text) < _SHORTEST:
            return self._make(text)
        key = text if len(text) < _LONG else xxhash.xxh3_128_digest(text.encode("utf-8", "surrogatepass"))
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                found = self._make(text)
            self._young[key] = found
            if len(self._young) >= _MOST:
                self._old, self._young = self._young, {}
        return found


class RememberingLevel:
    """A level with a memory for plain texts; everything else is the level's."""

    def __init__(self, of: Level, system: Callable[[str], str], user: Callable[[str], str]) -> None:
        self._of = of
        self._system = system
        self._user = user
        self.name = of.name
        self.version = of.version
        self.keep_properties_order = of.keep_properties_order
        self.identity = of.identity
        self.tag = of.tag

    def content(self, role: str, content: Any) -> Any:
        """Return a message's content in normal form."""
        if isinstance(content, str):
            return self._user(content) if role == "user" else self._system(content)
        return self._of.content(role, content)

    def tools(self, tools: Any) -> Any:
        """Return tool definitions in normal form."""
        return self._of.tools(tools)


def remembering(names: tuple[str, ...], masks: tuple[str, ...] | None = None) -> list[Any]:
    """Return the levels by name, with memories that they share where their passages are the same."""
    texts: dict[Passage, Callable[[str], str]] = {}
    found: list[Any] = []
    loose = level("loose").system
    for name in names:
        of = level(name) if masks is None else level(name, masks)
        if of.identity:
            found.append(of)
            continue
        for passage in (of.system, of.user):
            if passage not in texts:
                texts[passage] = Texts(_staged(passage, loose, texts))
        found.append(RememberingLevel(of, texts[of.system], texts[of.user]))
    return found


def _staged(passage: Passage, loose: Passage, texts: dict[Passage, Callable[[str], str]]) -> Callable[[str], str]:
    """Return the passage's own function, or for one that is loose with masks the masks and then loose's memory."""
    masks = tuple(rule for rule in passage.text if rule not in loose.text)
    after = tuple(rule for rule in passage.text if rule not in masks)
    if not masks or after != loose.text or (passage.opening, passage.ending) != (loose.opening, loose.ending):
        return passage.normal
    before = passage.text[: passage.text.index(masks[0])]
    together = passage.text[len(before) : len(before) + len(masks)] == masks
    if not together or loose not in texts or any(rule.changes_meaning for rule in before):
        return passage.normal
    rest = texts[loose]

    def normal(text: str) -> str:
        if not text.isascii() or fences.may_hold(text):
            return passage.normal(text)
        for rule in (*before, *masks):
            text = rule.apply(text)
        return passage.normal(text) if fences.may_hold(text) else rest(text)

    return normal
