"""Fingerprints that are equal wherever a level's forms are, and far cheaper.

A body's texts are replaced by short digests of them, which are remembered: system prompts repeat. At ``exact`` and
``safe`` a digest is of the text's own form. ``loose`` changes ASCII text in three ways only: capitals, white space,
and marks at the end. So a text without them is the same before and after, and two requests with equal loose forms
have equal fingerprints; ``masked`` does the same once its masks are applied. Text beyond ASCII is brought to its true
form first, since rules there replace characters. Most requests share their fingerprint with none, and so can share
their key with none.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

import xxhash

from edgeinf.core.normalize import fences
from edgeinf.core.normalize.base import Rule
from edgeinf.core.normalize.levels import LEVELS, Level, level
from edgeinf.core.normalize.passage import Passage
from edgeinf.core.wire.canonical import JsonObject, canonical

__all__ = [
    "COARSE",
    "REWRITTEN_DIALECTS",
    "TELLING",
    "CoarseLevel",
    "Digest",
    "coarse_levels",
    "digest",
    "fingerprint",
    "frame_number",
    "number",
    "packed_number",
    "squashed",
]

# Levels whose fingerprints may be equal where the keys are not.
COARSE = ("loose", "masked")
# Stands after them for what tells whether requests with one fingerprint at ``masked`` are sure to have one key.
TELLING = "telling"
# Those that let a level rewrite texts; all of them have one key for each call.
REWRITTEN_DIALECTS = frozenset({"openai-chat", "openai-responses", "anthropic-messages"})

_SMALL = bytes(ord(chr(byte).lower()) if byte < 128 else byte for byte in range(256))
_WHITE = bytes(byte for byte in range(128) if chr(byte).isspace())
_LOOSE = LEVELS["loose"].user
_WORD = 2**64 - 1
_NORMAL, _IN_PARTS = 1, 2  # seeds of digests

Digest = Callable[[str], int]


def squashed(text: str) -> bytes:
    """Return ASCII text without capitals, white space and closing marks; other text as it is.

    Raise CallError 400 where it is no text (a lone surrogate).
    """
    if not text.isascii():
        return _bytes(text)
    return text.encode().translate(_SMALL, _WHITE).rstrip(b".!?")


def digest(text: str) -> int:
    """Return a number for a text as it is. Raise CallError 400 where it is none."""
    return xxhash.xxh3_64_intdigest(_bytes(text))


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return canonical(text)  # which has the words for what is wrong


class CoarseLevel:
    """Rewrites as a level does, but leaves digests of texts, which may tell fewer of them apart.

    ``user`` and ``system`` give the digests of plain texts.
    """

    identity = False

    def __init__(self, like: Level, digests: dict[Passage, Digest]) -> None:
        """``digests`` gathers those of each passage, so that levels share what they have in common."""
        self._like = like
        self._squashing = like.name in COARSE
        self.name = like.name
        self.keep_properties_order = like.keep_properties_order
        for passage in (like.user, like.system):
            if passage not in digests:
                digests[passage] = _squashing(passage) if self._squashing else _digest_of(passage)
        self.user, self.system = digests[like.user], digests[like.system]
        self._unmasked = {"user": like.user.text == _LOOSE.text, "system": like.system.text == _LOOSE.text}

    def content(self, role: str, content: Any) -> Any:
        """Return a digest of a message's text, or its parts with their texts in normal form or squashed."""
        if isinstance(content, str):
            return self.user(content) if role == "user" else self.system(content)
        if not isinstance(content, list) or not content:
            return content
        if not self._squashing:
            content = self._like.content(role, content)
            return digest(content) if isinstance(content, str) else content
        if not self._unmasked["user" if role == "user" else "system"] or not all(map(_ascii_part, content)):
            content = self._like.content(role, content)
            if isinstance(content, str):
                return xxhash.xxh3_64_intdigest(squashed(content))
        elif len(content) == 1 and _is_text(content[0]) and len(content[0]) == 2:
            return xxhash.xxh3_64_intdigest(squashed(content[0]["text"]))
        return [{**part, "text": squashed(part["text"]).decode()} if _is_text(part) else part for part in content]

    def tools(self, tools: Any) -> Any:
        """Return tool definitions as the level does: masks change them, and nothing else does."""
        return self._like.tools(tools)


class _Telling(CoarseLevel):
    """Tells more apart than a level with masks does: what is equal here has one key there, whatever its fingerprint.

    Texts of users count as ``safe`` leaves them, others as the masks leave them. A text that comes in parts, and so in
    its normal form, is never taken for one that does not.
    """

    def __init__(self, like: Level, user: Digest, system: Digest) -> None:
        self._like = like
        self._squashing = False
        self.name = TELLING
        self.keep_properties_order = like.keep_properties_order
        self.user, self.system = user, system

    def content(self, role: str, content: Any) -> Any:
        if isinstance(content, str):
            return super().content(role, content)
        normal = self._like.content(role, content)
        return xxhash.xxh3_64_intdigest(_bytes(normal), seed=_IN_PARTS) if isinstance(normal, str) else normal


def coarse_levels(names: tuple[str, ...], masks: tuple[str, ...] | None) -> list[CoarseLevel]:
    """Return what stands in for the levels; none where no level tells which questions are one for sure.

    After the level with masks comes ``TELLING``, which needs the masks as well and so costs little more.
    """
    if "safe" not in names:
        return []
    digests: dict[Passage, Digest] = {}
    made = {name: level(name) if masks is None else level(name, masks) for name in names}
    found = [CoarseLevel(like, digests) for like in made.values()]
    if "masked" in made:
        system = digests[made["masked"].system]
        told = system.told if isinstance(system, _Masked) else digests[made["safe"].system]
        found.append(_Telling(made["masked"], digests[made["safe"].user], told))
    return found


def fingerprint(body: JsonObject, rule: CoarseLevel) -> int:
    """Return what stands for the key of a keyed body, its texts rewritten by ``rule``."""
    messages = body.get("messages")
    if isinstance(messages, list):
        messages = [_digested(message) for message in messages]
        if all(len(m) == 2 and isinstance(m.get("content"), int) for m in messages):
            roles = tuple(message["role"] for message in messages)
            return number(frame_number(body, roles, rule), [message["content"] & _WORD for message in messages])
    whole = canonical({**body, "messages": messages}, keep_properties_order=rule.keep_properties_order)
    return xxhash.xxh3_64_intdigest(whole)


def frame_number(body: JsonObject, roles: tuple[str, ...], rule: CoarseLevel) -> int:
    """Return what stands for a keyed body without its messages, of which each is a role and a text."""
    frame = {field: value for field, value in body.items() if field != "messages"}
    keep = rule.keep_properties_order
    return xxhash.xxh3_64_intdigest(b"%b\n%b" % (canonical(frame, keep_properties_order=keep), canonical(roles)))


def number(frame: int, digests: Sequence[int]) -> int:
    """Return the fingerprint of a frame with the digests of its texts."""
    return packed_number(frame, array("Q", digests).tobytes())


def packed_number(frame: int, digests: bytes) -> int:
    """Return what ``number`` does, of digests of eight bytes each in this machine's order."""
    return xxhash.xxh3_64_intdigest(digests, seed=frame)


def _digested(message: JsonObject) -> JsonObject:
    """Return a message with a digest for its text also where no level rewrites it."""
    content = message.get("content")
    return {**message, "content": digest(content)} if isinstance(content, str) else message


def _digest_of(passage: Passage) -> Digest:
    """Return what gives the digest of one kind of text as it is, or in the normal form that ``safe`` gives it."""
    normal = passage.normal
    if not passage.text:
        return digest
    # Line ends, compositions and white space at the ends are all that ``safe`` changes.
    return lambda text: digest(text if text.isascii() and "\r" not in text and text.strip() == text else normal(text))


def _squashing(passage: Passage) -> Digest:
    """Return what squashes one kind of text."""
    masks = tuple(rule for rule in passage.text if rule not in _LOOSE.text)
    normal = passage.normal
    if not masks:
        return lambda text: xxhash.xxh3_64_intdigest(squashed(text if text.isascii() else normal(text)))
    return _Masked(passage.text[: passage.text.index(masks[0]) + len(masks)], normal)


class _Masked:
    """Applies masks and what comes before them, and squashes the rest; what comes after leaves that alone.

    ``told`` is for the text before it is squashed. Both are asked for of one text after the other.
    """

    def __init__(self, rules: tuple[Rule, ...], normal: Callable[[str], str]) -> None:
        self._rules = rules
        self._normal = normal
        self._latest: str | None = None
        self._done = "", 0

    def __call__(self, text: str) -> int:
        return xxhash.xxh3_64_intdigest(squashed(self._masked(text)[0]))

    def told(self, text: str) -> int:
        """Return the digest of a masked text; one in its normal form is never taken for one that is not."""
        done, kind = self._masked(text)
        return xxhash.xxh3_64_intdigest(_bytes(done), seed=kind)

    def _masked(self, text: str) -> tuple[str, int]:
        if text != self._latest:
            self._done = self._made(text)
            self._latest = text
        return self._done

    def _made(self, text: str) -> tuple[str, int]:
        if text.isascii() and not fences.may_hold(text):
            done = text
            for rule in self._rules:
                done = rule.apply(done)
            if not fences.may_hold(done):
                return done, 0
        return self._normal(text), _NORMAL


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") in ("text", "input_text") and isinstance(part.get("text"), str)


def _ascii_part(part: Any) -> bool:
    return not _is_text(part) or part["text"].isascii()
