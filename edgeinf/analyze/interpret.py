"""From a record to what the proxy would make of it: may it be cached, and under which key at each level?

Keys are reduced to eight bytes: the BLAKE2b of the canonical body, whose first bytes also spread the ends of
entries, so a simulation with jitter needs nothing else. What else is in a key (dialect, path, model, scope) is kept
apart in a :class:`Context`, so that one pass over a log serves every scope.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
import xxhash

from edgeinf.analyze.asking import is_redacted, last_question, question_number
from edgeinf.analyze.blocks import SHORTEST_BYTES, prompt_blocks
from edgeinf.analyze.coarse import REWRITTEN_DIALECTS, CoarseLevel, coarse_levels, fingerprint
from edgeinf.analyze.gateways import by_name as by_gateway
from edgeinf.analyze.gateways.base import Gateway
from edgeinf.analyze.meaning import NO_CONTENT, Context, Meaning
from edgeinf.analyze.plain import PlainChats
from edgeinf.analyze.record import Record, call_of, parsed, quick
from edgeinf.analyze.remembered import remembering
from edgeinf.core.cacheable import CachePolicy, bypass_reason
from edgeinf.core.call import Call
from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.events import EventKeys
from edgeinf.core.key import form_of
from edgeinf.core.wire.canonical import JsonObject, canonical

__all__ = ["Interpreter"]

Key = TypeVar("Key")

_MEMO = 3_000
_WITH_SCHEMAS = frozenset({"tools", "functions", "response_format", "output_config", "output_format", "text"})


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
        self._coarse = coarse_levels(levels, masks) if coarse else []
        self._more = max(0, len(self._coarse) - len(levels))  # what fingerprints tell besides
        self._plain = PlainChats(policy, self._coarse) if self._coarse and not gateways else None
        self._by_safe: dict[tuple[Context, tuple[int, ...]], tuple[tuple[int, ...], ...]] = {}
        self._gateways = [by_gateway(name) for name in gateways]
        self._young: dict[bytes, Meaning] = {}
        self._old: dict[bytes, Meaning] = {}

    def meaning(self, record: Record) -> Meaning:
        """Return what a record's request is."""
        if record.keys is not None:
            return self._of_event(record, record.keys)
        raw = record.request
        if not isinstance(raw, bytes):
            return self._read(record)
        memo = xxhash.xxh3_128_digest(raw)
        if record.path is not None:
            memo += record.path.encode("utf-8", "surrogatepass")
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
        raw, body = record.request, None
        if isinstance(raw, bytes):
            if self._plain is not None:
                found = self._plain.meaning(record, raw)
                if found is not None:
                    return found
            body = quick(raw)
        try:
            call = call_of(record, parsed(raw, body) if isinstance(raw, bytes) else None)
        except CallError as error:
            return Meaning(Context(path=record.path or ""), self._none(), f"refused ({error.code})")
        if call is None:
            reason = NO_CONTENT if record.request is None else "opaque"
            return Meaning(Context(path=record.path or "", model=record.model or ""), self._none(), reason)
        dialect = by_name(call.dialect)
        context = Context(call.dialect, call.path, call.query, call.model)
        try:
            coarse = self._coarse and call.dialect in REWRITTEN_DIALECTS
            keys = _fingerprints(call, self._coarse) if coarse else self._padded(self._keys(call, context))
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
            redacted=is_redacted(question),
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
        for number, rule in enumerate(self._levels):
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
            if rule.name == "safe" and number + 1 < len(self._levels):
                # Looser levels see nothing but what safe has left.
                known = self._by_safe.get((context, keys[-1]))
                if known is not None:
                    return (*keys, *known)
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
        return Meaning(context, self._padded(numbers), reason)

    def _none(self) -> tuple[None, ...]:
        return (None,) * (len(self._levels) + self._more)

    def _padded(self, keys: tuple[Key, ...]) -> tuple[Key, ...]:
        """Return true keys, of which those of the loosest level tell all there is to tell."""
        return keys + keys[-1:] * self._more


def _fingerprints(call: Call, levels: list[CoarseLevel]) -> tuple[tuple[int, ...], ...]:
    """Return what stands for the key at each level."""
    keyed = by_name(call.dialect).keyed
    return tuple((fingerprint(keyed(call, rule)[0], rule),) for rule in levels)


def _number(body: bytes) -> int:
    return int.from_bytes(form_of(b"", body).digest[:8], "big")


def _has_schema(call: Call) -> bool:
    """Return whether a body may hold a JSON Schema."""
    return not call.body.keys().isdisjoint(_WITH_SCHEMAS)


def _is_short(record: Record) -> bool:
    """Return whether a body is too short to hold a prompt that a provider would cache."""
    return isinstance(record.request, bytes) and len(record.request) < SHORTEST_BYTES
