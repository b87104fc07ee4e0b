"""A short way for the requests that most logs are full of: chat bodies whose messages are a role and a text each.

All that the proxy asks of such a call besides its texts follows from its frame, the rest of the body and the roles;
frames, with the tools in them, and texts repeat far more than bodies do, and are remembered.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import repeat
from typing import Any

import msgspec
import xxhash

from edgeinf.analyze.asking import asked, is_redacted, surroundings
from edgeinf.analyze.blocks import SHORTEST_BYTES, prompt_blocks
from edgeinf.analyze.coarse import CoarseLevel, Digest, digest, frame_number, packed_number
from edgeinf.analyze.meaning import Context, Meaning
from edgeinf.analyze.record import Record, call_of, parsed, quick
from edgeinf.core.cacheable import CachePolicy, bypass_reason
from edgeinf.core.call import Call
from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject

__all__ = ["PlainChats"]

_FRAMES = 1_000
_TEXTS = 2_000  # of a generation; two are kept
_HEAD = 32  # a whole list is too much to look for
_LONG = 64  # longer texts are known by a digest of them
_REWRITTEN = frozenset({"system", "developer"})
_TOOLS = frozenset({"tools", "functions"})
_ROLES = frozenset({*_REWRITTEN, "user", "assistant", "tool", "function"})


class _Chat(msgspec.Struct, gc=False):
    messages: msgspec.Raw


class _Message(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: msgspec.Raw


_decode_chat = msgspec.json.Decoder(_Chat).decode
_decode_messages = msgspec.json.Decoder(list[_Message]).decode
_decode_text = msgspec.json.Decoder(str).decode
_pack = struct.Struct("=Q").pack


class Frame(msgspec.Struct, frozen=True, gc=False):
    """What a plain chat is besides its texts; ``numbers`` stand for what of it enters the key at each level."""

    call: Call  # without its body
    context: Context
    reason: str | None
    sampled: bool
    numbers: tuple[int, ...]


class Said(msgspec.Struct, frozen=True, gc=False):
    """A text: its digest at each level as eight bytes, how it is spelt, and what it asks if a user said it."""

    digests: tuple[bytes, ...] = ()
    quotes: int = 0
    chars: int = 0
    asked: int = 0
    redacted: bool = False


_NOTHING = Said()


class PlainChats:
    """Knows the frames and the texts of a log."""

    def __init__(self, policy: CachePolicy, levels: list[CoarseLevel]) -> None:
        self._policy = policy
        self._frames: dict[tuple[Any, ...], Frame | None] = {}
        self._levels = levels
        user, system = [level.user for level in levels], [level.system for level in levels]
        as_it_is: list[Digest] = [digest] * len(levels)
        of_user = _Spoken(
            lambda text, quotes: Said(_digests(text, user), quotes, len(text), asked(text), is_redacted(text))
        )
        of_system = _Spoken(lambda text, quotes: Said(_digests(text, system), quotes))
        of_others = _Spoken(lambda text, quotes: Said(_digests(text, as_it_is), quotes))
        self._by_role = {role: of_system if role in _REWRITTEN else of_others for role in _ROLES}
        self._by_role["user"] = of_user

    def meaning(self, record: Record, raw: bytes) -> Meaning | None:
        """Return what a request is; None where it is no plain chat, or holds a key twice.

        Texts are told by how they are spelt, and the frame is the body with its messages cut out.
        """
        try:
            listed = bytes(_decode_chat(raw).messages)
            messages = _decode_messages(listed)
            said = [self._by_role[message.role](message.content) for message in messages]
        except (msgspec.DecodeError, UnicodeDecodeError, CallError, KeyError):
            return None
        roles = [message.role for message in messages]
        quotes, last = 6 * len(said), _NOTHING
        for role, one in zip(roles, said, strict=True):
            quotes += one.quotes
            if role == "user":
                last = one
        if listed.count(b'"') != quotes:
            return None  # a key twice, of which the first was dropped
        start = raw.find(listed[:_HEAD])
        end = start + len(listed)
        if not raw.startswith(listed, start):
            return None  # as with a key before it that begins alike
        frame = self._frame((raw[:start], raw[end:], record.path, *roles), record, listed)
        if frame is None:
            return None
        body = quick(raw) if record.route is None or len(raw) >= SHORTEST_BYTES else None
        around = 1 if record.route is not None else surroundings(body or {})
        blocks: tuple[int, ...] = ()
        if len(raw) >= SHORTEST_BYTES:
            blocks = prompt_blocks(msgspec.structs.replace(frame.call, body=body or {}))
        return Meaning(
            context=frame.context,
            keys=_keys(frame, said),
            reason=frame.reason,
            question=last.asked << 32 | around if last.chars else 0,
            user=frame.call.user,
            sampled=frame.sampled,
            blocks=blocks,
            prompt_chars=last.chars,
            redacted=last.redacted,
        )

    def _frame(self, key: tuple[Any, ...], record: Record, listed: bytes) -> Frame | None:
        try:
            return self._frames[key]
        except KeyError:
            if len(self._frames) >= _FRAMES:
                self._frames.clear()
            found = self._frames[key] = self._framed(record, b"%b[]%b" % key[:2], listed)
            return found

    def _framed(self, record: Record, bare: bytes, listed: bytes) -> Frame | None:
        """Return a frame; None where the body is no chat, none that ``serve`` takes, or has other messages too."""
        try:
            body = parsed(bare)
            if body.get("messages") != []:
                return None
            body["messages"] = msgspec.json.decode(listed)
            call = call_of(record, body)
            if call is None or call.dialect != "openai-chat":
                return None
            numbers = self._numbers(msgspec.structs.replace(call, body={**body, "messages": []}), body["messages"])
        except CallError:
            return None
        temperature = body.get("temperature")
        return Frame(
            call=msgspec.structs.replace(call, body={}),
            context=Context(call.dialect, call.path, call.query, call.model),
            reason=bypass_reason(call, by_name(call.dialect), self._policy),
            sampled=not isinstance(temperature, int | float) or temperature > 0,
            numbers=numbers,
        )

    def _numbers(self, bare: Call, messages: list[JsonObject]) -> tuple[int, ...]:
        """Return the frame's number at each level; levels that see the same share one."""
        roles = tuple(message["role"] for message in messages)
        keyed = by_name(bare.dialect).keyed
        first = keyed(bare, self._levels[0])[0]
        nested = any(isinstance(value, list | dict) for field, value in first.items() if field != "messages")
        if not nested and first.keys().isdisjoint(_TOOLS):
            return (frame_number(first, roles, self._levels[0]),) * len(self._levels)  # nothing that a level rewrites
        numbers: list[int] = []
        before: tuple[JsonObject, bool] | None = None
        for rule in self._levels:
            body = keyed(bare, rule)[0]
            if (body, rule.keep_properties_order) != before:
                before, made = (body, rule.keep_properties_order), frame_number(body, roles, rule)
            numbers.append(made)
        return tuple(numbers)


def _keys(frame: Frame, said: list[Said]) -> tuple[tuple[int, ...], ...]:
    """Return the fingerprint at each level, as ``coarse.fingerprint`` makes it; that of equal texts once."""
    keys: list[tuple[int, ...]] = []
    before: tuple[int, bytes] | None = None
    by_level = map(b"".join, zip(*[one.digests for one in said], strict=True)) if said else repeat(b"")
    for seen in zip(frame.numbers, by_level, strict=False):
        if seen != before:
            before, made = seen, (packed_number(*seen),)
        keys.append(made)
    return tuple(keys)


def _digests(text: str, ways: list[Digest]) -> tuple[bytes, ...]:
    """Return the digests of a text, those that are made in one way once."""
    known: dict[Digest, bytes] = {}
    for way in ways:
        if way not in known:
            known[way] = _pack(way(text))
    return tuple([known[way] for way in ways])


class _Spoken:
    """What was made of texts as they are spelt, the latest two generations."""

    def __init__(self, make: Callable[[str, int], Said]) -> None:
        self._make = make
        self._young: dict[bytes, Said] = {}
        self._old: dict[bytes, Said] = {}

    def __call__(self, spelt: msgspec.Raw) -> Said:
        """Return what is made of a text. Raise DecodeError where it is none, CallError where it cannot be one."""
        key = bytes(spelt)
        if len(key) > _LONG:
            key = xxhash.xxh3_128_digest(key)
        found = self._young.get(key)
        if found is None:
            found = self._old.get(key)
            if found is None:
                found = self._make(_decode_text(spelt), bytes(spelt).count(b'"'))
            self._young[key] = found
            if len(self._young) >= _TEXTS:
                self._old, self._young = self._young, {}
        return found
