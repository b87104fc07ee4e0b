"""Fingerprints that are equal wherever a looser level's forms are, and far cheaper.

``loose`` changes ASCII text in three ways only: capitals, white space, and marks at the end. So a text without them is
the same before and after, and two requests with equal loose forms have equal fingerprints; ``masked`` does the same
once its masks are applied. Text beyond ASCII is brought to its true form first, since rules there replace characters.
Most requests share their fingerprint with none, and so can share their key with none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from edgeinf.analyze.remembered import Texts
from edgeinf.core.normalize import fences
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.levels import LEVELS, Level, level
from edgeinf.core.normalize.passage import Passage

__all__ = ["COARSE", "REWRITTEN_DIALECTS", "CoarseLevel", "coarse_levels", "squashed"]

COARSE = ("loose", "masked")
# Those that let a level rewrite texts; all of them have one key for each call.
REWRITTEN_DIALECTS = frozenset({"openai-chat", "openai-responses", "anthropic-messages"})

_SMALL = bytes(ord(chr(byte).lower()) if byte < 128 else byte for byte in range(256))
_WHITE = bytes(byte for byte in range(128) if chr(byte).isspace())
_LOOSE = LEVELS["loose"].user


def squashed(text: str) -> str:
    """Return ASCII text without capitals, white space and closing marks; other text as it is."""
    if not text.isascii():
        return text
    return text.encode().translate(_SMALL, _WHITE).rstrip(b".!?").decode()


class CoarseLevel:
    """Rewrites as a level does, but tells fewer texts apart. ``of`` is the level, possibly one that remembers."""

    identity = False

    def __init__(self, of: Any, like: Level) -> None:
        self._of = of
        self.name = like.name
        self._user = _text(like.user, lambda text: str(of.content("user", text)))
        self._system = _text(like.system, lambda text: str(of.content("system", text)))
        self._unmasked = {"user": like.user.text == _LOOSE.text, "system": like.system.text == _LOOSE.text}

    def content(self, role: str, content: Any) -> Any:
        """Return a message's content, squashed."""
        if isinstance(content, str):
            return self._user(content) if role == "user" else self._system(content)
        if not isinstance(content, list) or not content:
            return content
        if not self._unmasked["user" if role == "user" else "system"] or not all(map(_ascii_part, content)):
            content = self._of.content(role, content)
            if isinstance(content, str):
                return squashed(content)
        elif len(content) == 1 and _is_text(content[0]) and len(content[0]) == 2:
            return squashed(content[0]["text"])
        return [{**part, "text": squashed(part["text"])} if _is_text(part) else part for part in content]

    def tools(self, tools: Any) -> Any:
        """Return tool definitions as the level does: masks change them, and nothing else does."""
        return self._of.tools(tools)


def coarse_levels(names: tuple[str, ...], masks: tuple[str, ...] | None, own: list[Any]) -> list[CoarseLevel]:
    """Return what stands in for the levels after ``safe``; none where another order makes that impossible.

    ``own`` are the levels themselves, one per name.
    """
    if "safe" not in names or not set(names[: names.index("safe")]).isdisjoint(COARSE):
        return []
    after = names[names.index("safe") + 1 :]
    if not set(after) <= set(COARSE):
        return []
    return [
        CoarseLevel(of, level(name) if masks is None else level(name, masks))
        for name, of in zip(after, own[-len(after) :] if after else [], strict=True)
    ]


def _text(passage: Passage, normal: Callable[[str], str]) -> Callable[[str], str]:
    """Return what squashes one kind of text; ``normal`` is the level's own way with it."""
    masks = tuple(rule for rule in passage.text if rule not in _LOOSE.text)
    if passage.text == _LOOSE.text:
        return lambda text: squashed(text) if text.isascii() else squashed(normal(text))
    first = passage.text.index(masks[0])
    return Texts(_masking(passage.text[: first + len(masks)], normal))


def _masking(rules: tuple[Rule, ...], normal: Callable[[str], str]) -> Callable[[str], str]:
    """Return the masks and what comes before them, then squashed; what comes after leaves that alone."""

    def squash(text: str) -> str:
        if not text.isascii() or fences.may_hold(text):
            return squashed(normal(text))
        done = text
        for rule in rules:
            done = rule.apply(done)
        return squashed(normal(text)) if fences.may_hold(done) else squashed(done)

    return squash


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("text", "input_text") and isinstance(part.get("text"), str)


def _ascii_part(part: Any) -> bool:
    return not _is_text(part) or part["text"].isascii()
