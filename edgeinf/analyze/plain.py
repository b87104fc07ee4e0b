"""A short way for the requests that most logs are full of: chat bodies whose messages are a role and a text each.

All that the proxy asks of such a call besides its texts follows from its frame, the rest of the body and the roles;
frames, with the tools in them, and texts repeat far more than bodies do, and are remembered.
"""

from __future__ import annotations

from itertools import repeat

import msgspec
import xxhash

from edgeinf.analyze.asking import asked, is_redacted, surroundings
from edgeinf.analyze.blocks import SHORTEST_BYTES, prompt_blocks
from edgeinf.analyze.coarse import CoarseLevel, Digest, digest, frame_number, number
from edgeinf.analyze.meaning import Context, Meaning
from edgeinf.analyze.record import Record, call_of, quotes
from edgeinf.analyze.remembered import Texts
from edgeinf.core.cacheable import CachePolicy, bypass_reason
from edgeinf.core.call import Call
from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject

__all__ = ["PlainChats"]

_MEMO = 1_000
_REWRITTEN = frozenset({"system", "developer", "user"})
_ROLES = frozenset({*_REWRITTEN, "assistant", "tool", "function"})

_encode = msgspec.json.Encoder().encode


class Frame(msgspec.Struct, frozen=True):
    """What a plain chat is besides its texts; ``numbers`` stand for what of it enters the key at each level."""

    call: Call  # without its body
    context: Context
    reason: str | None
    sampled: bool
    numbers: tuple[int, ...]


class Said(msgspec.Struct, frozen=True):
    """What a user said: its digest at each level, and what it asks."""

    digests: tuple[int, ...] = ()
    asked: int = 0
    redacted: bool = False


_NOTHING = Said()


class PlainChats:
    """Knows the frames and the texts of a log."""

    def __init__(self, policy: CachePolicy, levels: list[CoarseLevel]) -> None:
        self._policy = policy
        self._frames: dict[tuple[object, ...], Frame | None] = {}
        self._levels = levels
        user, system = [level.user for level in levels], [level.system for level in levels]
        self._user = Texts(lambda text: Said(_digests(text, user), asked(text), is_redacted(text)))
        self._system = Texts(lambda text: _digests(text, system))

    def meaning(self, record: Record, raw: bytes, body: JsonObject) -> Meaning | None:
        """Return what a request is; None where it is no plain chat, or may hold a key twice.

        ``body`` is ``raw`` as the quick parser reads it, which drops the first of two equal keys.
        """
        messages = body.get("messages")
        if type(messages) is not list:
            return None
        rest = _encode({field: value for field, value in body.items() if field != "messages"})
        seen = rest.count(b'"') + 2
        key: list[object] = [xxhash.xxh3_128_digest(rest), record.path]
        said: list[tuple[int, ...]] = []
        question, last = "", _NOTHING
        for message in messages:
            if type(message) is not dict or len(message) != 2:
                return None
            role, text = message.get("role"), message.get("content")
            if type(role) is not str or type(text) is not str or role not in _ROLES:
                return None
            seen += 8 + text.count('"')
            key.append(role)
            if role == "user":
                question, last = text, self._user(text)
                said.append(last.digests)
            else:
                said.append(self._system(text) if role in _REWRITTEN else (digest(text),) * len(self._levels))
        frame = self._frame(tuple(key), record, body) if seen == quotes(raw) else None
        if frame is None:
            return None
        around = 1 if record.route is not None else surroundings(body)
        return Meaning(
            context=frame.context,
            keys=self._keys(frame, said),
            reason=frame.reason,
            question=last.asked << 32 | around if question else 0,
            user=frame.call.user,
            sampled=frame.sampled,
            blocks=() if len(raw) < SHORTEST_BYTES else prompt_blocks(msgspec.structs.replace(frame.call, body=body)),
            prompt_chars=len(question),
            redacted=last.redacted,
        )

    def _keys(self, frame: Frame, said: list[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
        """Return the fingerprint at each level, as ``coarse.fingerprint`` makes it; that of equal texts once."""
        keys: list[tuple[int, ...]] = []
        before: tuple[object, ...] = ()
        for around, digests in zip(frame.numbers, zip(*said, strict=True) if said else repeat(()), strict=False):
            if (around, digests) != before:
                before, made = (around, digests), (number(around, digests),)
            keys.append(made)
        return tuple(keys)

    def _frame(self, key: tuple[object, ...], record: Record, body: JsonObject) -> Frame | None:
        try:
            return self._frames[key]
        except KeyError:
            if len(self._frames) >= _MEMO:
                self._frames.clear()
            found = self._frames[key] = self._framed(record, body)
            return found

    def _framed(self, record: Record, body: JsonObject) -> Frame | None:
        """Return a frame; None where the body is no chat or none that ``serve`` takes."""
        try:
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
        numbers: list[int] = []
        before: tuple[JsonObject, bool] | None = None
        for rule in self._levels:
            body = keyed(bare, rule)[0]
            if (body, rule.keep_properties_order) != before:
                before, made = (body, rule.keep_properties_order), frame_number(body, roles, rule)
            numbers.append(made)
        return tuple(numbers)


def _digests(text: str, ways: list[Digest]) -> tuple[int, ...]:
    """Return the digests of a text, those that are made in one way once."""
    known: dict[Digest, int] = {}
    for way in ways:
        if way not in known:
            known[way] = way(text)
    return tuple([known[way] for way in ways])
