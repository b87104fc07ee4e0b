"""From a record to what the proxy would make of it: may it be cached, and under which key at each level?

Keys are reduced to eight bytes: the BLAKE2b of the canonical body, whose first bytes also spread the ends of
entries, so a simulation with jitter needs nothing else. What else is in a key (dialect, path, model, scope) is kept
apart in a :class:`Context`, so that one pass over a log serves every scope.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec
import xxhash

from edgeinf.analyze.blocks import SHORTEST_BYTES, prompt_blocks
from edgeinf.analyze.coarse import REWRITTEN_DIALECTS, CoarseLevel, coarse_levels
from edgeinf.analyze.gateways import by_name as by_gateway
from edgeinf.analyze.gateways.base import Gateway
from edgeinf.analyze.record import Record, call_of
from edgeinf.analyze.remembered import remembering
from edgeinf.core.cacheable import CachePolicy, bypass_reason
from edgeinf.core.call import Call
from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.events import EventKeys
from edgeinf.core.key import Form, spread
from edgeinf.core.wire.canonical import JsonObject, canonical

__all__ = ["NO_CONTENT", "Context", "Interpreter", "Meaning", "last_question", "skeleton"]

NO_CONTENT = "no-content"
_MEMO = 4_000
_REWRITTEN = frozenset({"system", "developer", "user"})
_WITH_SCHEMAS = frozenset({"tools", "functions", "response_format", "output_config", "output_format", "text"})
_HEAD_CHARS = 2_000


class Context(msgspec.Struct, frozen=True):
    """What enters a key besides body and scope."""

    dialect: str = ""
    path: str = ""
    query: str = ""
    model: str = ""


class Meaning(msgspec.Struct, frozen=True):
    """What a request is to the cache. ``keys`` holds, per level, one number per part, or None if unknown."""

    context: Context
    keys: tuple[tuple[int, ...] | None, ...]
    reason: str | None = None
    question: int = 0  # upper half: what is asked, without the volatile; lower half: what surrounds it
    user: str | None = None
    sampled: bool = False
    gates: tuple[int, ...] = ()  # other tools' keys; 0 where they do not cache
    blocks: tuple[int, ...] = ()  # see blocks.py
    prompt_chars: int = 0
    redacted: bool = False


class Interpreter:
    """Interprets records under one policy; remembers the latest bodies, since logs repeat themselves."""

    def __init__(
        self,
        policy: CachePolicy,
        levels: tuple[str, ...],
        masks: tuple[str, ...] | None = None,
        gateways: tuple[str, ...] = (),
        *,
        coarse: bool = False,
    ) -> None:
        """``coarse`` puts fingerprints in the place of the keys that ``settle`` works out where they matter."""
        self.policy = policy
        self.levels = levels
        self._levels = remembering(levels, masks)
        self._coarse = coarse_levels(levels, masks, self._levels) if coarse else []
        self._strict = self._levels[: len(self._levels) - len(self._coarse)]
        self._by_safe: dict[tuple[Context, tuple[int, ...]], tuple[tuple[int, ...], ...]] = {}
        self._gateways = [by_gateway(name) for name in gateways]
        self._young: dict[tuple[int, str | None], Meaning] = {}
        self._old: dict[tuple[int, str | None], Meaning] = {}

    def meaning(self, record: Record) -> Meaning:
        """Return what a record's request is."""
        if record.keys is not None:
            return self._of_event(record, record.keys)
        raw = record.request
        if not isinstance(raw, bytes):
            return self._read(record)
        memo = (xxhash.xxh3_128_intdigest(raw), record.path)
        found = self._young.get(memo)
        if found is None:
            found = self._old.get(memo) or self._read(record)
            self._young[memo] = found
            if len(self._young) >= _MEMO:
                self._old, self._young = self._young, {}
        return found

    def key_at(self, call: Call, name: str) -> int:
        """Return the key that a call of one part has at a level, as ``meaning`` gives it when nothing is coarse."""
        rule = self._levels[self.levels.index(name)]
        body = by_name(call.dialect).keyed(call, rule)[0]
        return _number(canonical(body, keep_properties_order=rule.keep_properties_order))

    def _read(self, record: Record) -> Meaning:
        try:
            call = call_of(record)
        except CallError as error:
            return Meaning(Context(path=record.path or ""), self._none(), f"refused ({error.code})")
        if call is None:
            reason = NO_CONTENT if record.request is None else "opaque"
            return Meaning(Context(path=record.path or "", model=record.model or ""), self._none(), reason)
        dialect = by_name(call.dialect)
        context = Context(call.dialect, call.path, call.query, call.model)
        try:
            keys = self._keys(call, context)
        except CallError as error:
            return Meaning(context, self._none(), f"refused ({error.code})", user=call.user)
        temperature = call.body.get("temperature")
        question = last_question(call)
        return Meaning(
            context=context,
            keys=keys,
            reason=bypass_reason(call, dialect, self.policy),
            question=question_number(question, call, framed=record.route is None) if question else 0,
            gates=tuple(self._gate(gateway, record, call) for gateway in self._gateways),
            blocks=() if _is_short(record) else prompt_blocks(call),
            user=call.user,
            sampled=not isinstance(temperature, int | float) or temperature > 0,
            prompt_chars=len(question),
            redacted="redacted" in question.lower(),
        )

    @staticmethod
    def _gate(gateway: Gateway, record: Record, call: Call) -> int:
        raw = record.request if isinstance(record.request, bytes) else msgspec.json.encode(record.request)
        material = gateway.material(raw, call)
        return 0 if material is None else xxhash.xxh3_64_intdigest(material) or 1

    def _keys(self, call: Call, context: Context) -> tuple[tuple[int, ...], ...]:
        """Return the keys of every level; what two levels make the same bytes of is hashed once."""
        dialect = by_name(call.dialect)
        keys: list[tuple[int, ...]] = []
        before: list[JsonObject] = []
        ordered = True
        texts = _plain_texts(call)
        said: Any = None
        coarse = self._coarse if call.dialect in REWRITTEN_DIALECTS else []
        levels = self._strict if coarse else self._levels
        for number, rule in enumerate(levels):
            if texts is not None:
                # Nothing but these texts is rewritten: where a level leaves them as the one before did, keys are equal.
                rewritten = texts if rule.identity else [(role, rule.content(role, text)) for role, text in texts]
                if rewritten == said:
                    keys.append(keys[-1])
                    if rule.name == "safe" and (known := self._by_safe.get((context, keys[-1]))) is not None:
                        return (*keys, *known)
                    continue
                said = rewritten
            bodies = dialect.keyed(call, rule)
            # Equal values are equal bytes, unless the order inside a schema's properties counts for one and not both.
            same = bodies == before and (ordered == rule.keep_properties_order or not _has_schema(call))
            if same:
                keys.append(keys[-1])
            else:
                keep = rule.keep_properties_order
                written = [canonical(body, keep_properties_order=keep) for body in bodies]
                keys.append(tuple(map(_number, written)))
            before, ordered = bodies, rule.keep_properties_order
            if rule.name == "safe" and (coarse or number + 1 < len(levels)):
                # Looser levels see nothing but what safe has left.
                known = self._by_safe.get((context, keys[-1]))
                if known is not None:
                    return (*keys, *known)
        if coarse:
            keys += _fingerprints(call, texts, before, coarse)
        if "safe" in self.levels:
            at = self.levels.index("safe")
            if len(self._by_safe) >= _MEMO:
                self._by_safe.clear()
            self._by_safe[context, keys[at]] = tuple(keys[at + 1 :])
        return tuple(keys)

    def _of_event(self, record: Record, keys: EventKeys) -> Meaning:
        context = Context(path=record.path or "", model=record.model or "")
        numbers = tuple(
            None if (names := getattr(keys, name, None)) is None else tuple(int(n[:16], 16) for n in names)
            for name in self.levels
        )
        reason = record.reason
        if reason is None and all(n is None for n in numbers):
            reason = NO_CONTENT
        return Meaning(context, numbers, reason)

    def _none(self) -> tuple[None, ...]:
        return (None,) * len(self._levels)


def _fingerprints(
    call: Call, texts: list[tuple[str, str]] | None, bodies: list[JsonObject], levels: list[CoarseLevel]
) -> Iterator[tuple[int, ...]]:
    """Yield what stands for the key at each coarse level: a hash of the body, its texts squashed.

    ``bodies`` are those of another level: where ``texts`` are all that is rewritten, they are put into these.
    """
    dialect = by_name(call.dialect)
    said: Any = None
    found: tuple[int, ...] = ()
    for rule in levels:
        if texts is not None:
            squashed = [rule.content(role, text) for role, text in texts]
            if squashed == said:
                yield found
                continue
            said = squashed
            upcoming = iter(squashed)
            bodies = [
                {**body, "messages": [_with(message, upcoming) for message in body["messages"]]} for body in bodies
            ]
        else:
            bodies = dialect.keyed(call, rule)
        found = tuple(xxhash.xxh3_64_intdigest(canonical(body, keep_properties_order=False)) for body in bodies)
        yield found


def _number(body: bytes) -> int:
    return int.from_bytes(spread(Form(b"", body))[:8], "big")


def _with(message: JsonObject, texts: Iterator[str]) -> JsonObject:
    return {**message, "content": next(texts)} if message["role"] in _REWRITTEN else message


def _plain_texts(call: Call) -> list[tuple[str, str]] | None:
    """Return the texts that a level may rewrite, if plain messages hold all of them; None where there is more."""
    body = call.body
    if call.dialect != "openai-chat" or not body.keys().isdisjoint(_WITH_SCHEMAS):
        return None
    found = []
    for message in body["messages"]:
        content = message.get("content")
        if not isinstance(content, str):
            return None
        if message["role"] in _REWRITTEN:
            found.append((message["role"], content))
    return found


def _has_schema(call: Call) -> bool:
    """Return whether a body may hold a JSON Schema."""
    return not call.body.keys().isdisjoint(_WITH_SCHEMAS)


def _is_short(record: Record) -> bool:
    """Return whether a body is too short to hold a prompt that a provider would cache."""
    return isinstance(record.request, bytes) and len(record.request) < SHORTEST_BYTES


def last_question(call: Call) -> str:
    """Return the text of the last user turn, or of the prompt where there are no turns."""
    messages = call.body.get("messages")
    if isinstance(messages, list):
        for message in reversed(messages):
            if isinstance(message, dict) and message.get("role") == "user":
                return _said(message.get("content"))
        return ""
    for field in ("input", "prompt", "query"):
        if field in call.body:
            return _said(call.body[field])
    return ""


def _said(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(_said(part) for part in content)
    if isinstance(content, dict):
        return _said(content.get("text") or content.get("content") or "")
    return ""


def question_number(question: str, call: Call, *, framed: bool = True) -> int:
    """Return a number whose upper 32 bits are equal for requests that ask much the same, and whose lower 32 bits are
    mostly equal for those whose surroundings are: the system prompt but for what changes in it, and the tools' number.
    ``framed`` False leaves the lower half out, where the log's route says as much.
    """
    asked = xxhash.xxh32_intdigest(skeleton(question).encode("utf-8", "surrogatepass"))
    if not framed:
        return asked << 32 | 1
    sentences = instructions(call).replace("\n", ". ").split(". ")
    # The two smallest hashes of its sentences: one that changes is seldom among them, and those with digits are out.
    marks = sorted({zlib.crc32(s.encode("utf-8", "surrogatepass")) for s in sentences if not _DIGIT.search(s)})[:2]
    tools = call.body.get("tools")
    frame = xxhash.xxh32_intdigest(repr((marks, len(tools) if isinstance(tools, list) else 0)).encode())
    return asked << 32 | frame or 1


def instructions(call: Call) -> str:
    """Return the system prompt of a call, wherever its dialect keeps it."""
    body = call.body
    found = [_said(body[field]) for field in ("system", "instructions") if field in body]
    messages = body.get("messages")
    if isinstance(messages, list):
        found += [
            _said(m.get("content"))
            for m in messages
            if isinstance(m, dict) and m.get("role") in ("system", "developer")
        ]
    return "\n".join(found)


_DIGIT = re.compile(r"\d")
_APART = re.compile(r"[\W_]+")
_LETTERS = bytes(
    ord(chr(c).lower()) if c < 128 and chr(c).isalpha() else ord("#") if chr(c) in "0123456789" else ord(" ")
    for c in range(256)
)


def skeleton(question: str) -> str:
    """Return a question without digits, ids, case and punctuation: what near-equal ones have in common."""
    if len(question) > 2 * _HEAD_CHARS:
        question = question[:_HEAD_CHARS] + question[-_HEAD_CHARS:]
    if question.isascii():
        words = question.encode().translate(_LETTERS).split()
        return b" ".join([word for word in words if b"#" not in word]).decode()
    words_ = _APART.sub(" ", question).lower().split()
    return " ".join(word for word in words_ if word.isalpha() or not any(map(str.isdigit, word)))
