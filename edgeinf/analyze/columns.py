"""Requests as columns of numbers: what a worker gathers from its part of a log and what all parts become together.

No object per request exists: about 70 bytes each, so that a log of a gigabyte fits beside everything else.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, product
from operator import attrgetter
from typing import Any, Literal

import msgspec
import xxhash

from edgeinf.analyze.blocks import BLOCK_TOKENS
from edgeinf.analyze.meaning import Context, Meaning
from edgeinf.analyze.record import Damaged, Record
from edgeinf.analyze.source import Chunk

__all__ = ["COLUMNS", "FLOATS", "Batch", "Builder", "Group"]

_AT_ONCE = 512
_ONE = {1}
_NONE = -1
_NAN = float("nan")
_MOST = 2**31 - 1

ELIGIBLE, STORABLE, SAMPLED, ANSWERED, SERVED, FAILED, REDACTED = 1, 2, 4, 8, 16, 32, 64

_SERVED = frozenset({"hit", "stale", "collapsed"})
_PLAIN = {
    (eligible, sampled, answered): eligible * (ELIGIBLE | STORABLE) | sampled * SAMPLED | answered * ANSWERED
    for eligible, sampled, answered in product((False, True), repeat=3)
}

# Columns that a chunk without any value leaves out, with what stands for "not said".
FLOATS: dict[str, Literal["d", "f"]] = {"at": "d", "latency": "f", "ttft": "f", "usd": "f"}
COUNTS = ("input", "output", "cached", "cache_write")


# Type and what stands for "not said". None: the column is always there.
COLUMNS: dict[str, tuple[Any, float | None]] = {
    "offset": ("I", None),
    "group": ("I", None),
    "flags": ("B", None),
    "reason": ("B", None),
    "question": ("Q", None),
    "user": ("I", 0),
    "session": ("I", 0),
    **dict.fromkeys(COUNTS, ("i", _NONE)),
    **{name: (kind, _NAN) for name, kind in FLOATS.items()},
}
# The columns that are a field of the record as it stands.
_FIELDS = ("at", "latency", "ttft", "usd", *COUNTS)
_OF_RECORD = attrgetter("at", "latency_ms", "ttft_ms", "usd", *[f"{name}_tokens" for name in COUNTS])
_DESCRIBED = attrgetter("model", "route", "tenant", "team", "key_id", "scope")


def _number(name: str | None) -> int:
    """Return a number for a name; zero stands for none. Two names share one in four thousand million times."""
    return 0 if name is None else xxhash.xxh32_intdigest(name.encode("utf-8", "surrogatepass")) or 1


def _filled(kind: Any, values: list[Any], absent: Any) -> array[Any]:
    """Return values as a column; few of them hold a None, or a count that is too large."""
    try:
        return array(kind, values)
    except (TypeError, OverflowError):
        return array(kind, [absent if value is None else min(value, _MOST) for value in values])


def _flags(record: Record, meaning: Meaning) -> int:
    status = record.status
    flags = _PLAIN[meaning.reason is None, meaning.sampled, record.answer is not None]
    if status is not None and not 200 <= status < 300:
        flags = flags & ~STORABLE | FAILED
    if record.cache in _SERVED:
        flags |= SERVED
    return flags | REDACTED if meaning.redacted else flags


class Group(msgspec.Struct, frozen=True):
    """What many requests have in common, kept once."""

    context: Context
    model: str = ""
    route: str | None = None
    tenant: str | None = None
    team: str | None = None
    key_id: str | None = None
    scope_kind: str | None = None
    scope_id: str | None = None


class Batch(msgspec.Struct, frozen=True):
    """The columns of one chunk as raw machine-order bytes, and the names that its numbers stand for."""

    rows: int
    columns: dict[str, bytes]
    groups: list[Group]
    reasons: list[str]
    skipped: dict[str, int]
    damaged: int
    unknown_levels: dict[str, int]
    lengths: dict[int, int]
    ids: int  # how many rows carry an id, and how many of them were seen before in this chunk
    repeated_ids: int
    read_bytes: int
    block_tokens: list[int]
    chunk: Chunk | None  # None where the format is read as a whole


class Builder:
    """Gathers the rows of one chunk, some at a time and then column by column."""

    def __init__(self, levels: Sequence[str], gateways: Sequence[str] = ()) -> None:
        self.levels = tuple(levels)
        self.damaged = 0
        self.skipped: dict[str, int] = {}
        self._rows = 0
        self._waiting: list[tuple[Record, Meaning, int]] = []
        self._columns: dict[str, array[Any]] = {name: array(kind) for name, (kind, _) in COLUMNS.items()}
        self._keys = {level: array("Q") for level in levels}
        self._gates = {name: array("Q") for name in gateways}
        self._parts = array("H")
        self._block = array("Q")
        self._blocks = array("I")
        self._block_tokens: set[int] = set()
        self._groups: dict[Group, int] = {}
        self._group_memo: dict[tuple[object, ...], int] = {}
        self._reasons: dict[str, int] = {}
        self._number = lru_cache(maxsize=None)(_number)
        self._unknown: dict[str, int] = {}
        self._lengths: Counter[int] = Counter()
        self._ids: set[str] = set()
        self._with_id = 0

    @property
    def rows(self) -> int:
        """Return how many requests were added."""
        return self._rows + len(self._waiting)

    def skip(self, fault: Exception) -> None:
        """Count a line that gave no request."""
        self.skipped[str(fault)] = self.skipped.get(str(fault), 0) + 1
        self.damaged += isinstance(fault, Damaged)

    def add(self, record: Record, meaning: Meaning, offset: int) -> None:
        """Add one request."""
        self._waiting.append((record, meaning, offset))
        if len(self._waiting) >= _AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        """Turn the rows that wait into numbers."""
        if not self._waiting:
            return
        records, meanings, offsets = zip(*self._waiting, strict=True)
        self._rows += len(records)
        self._waiting.clear()
        number = self._number
        values: dict[str, list[Any]] = {
            "offset": list(offsets),
            "group": self._groups_of(records, meanings),
            "flags": list(map(_flags, records, meanings)),
            "reason": [0 if m.reason is None else self._reason_of(m.reason) for m in meanings],
            "question": [m.question for m in meanings],
            "user": [number(r.user or m.user) for r, m in zip(records, meanings, strict=True)],
            "session": [number(r.session) for r in records],
            **dict(zip(_FIELDS, map(list, zip(*map(_OF_RECORD, records), strict=True)), strict=True)),
        }
        for name, (kind, absent) in COLUMNS.items():
            self._columns[name] += _filled(kind, values[name], absent)
        self._add_keys(meanings)
        self._add_blocks(records, meanings)
        for place, gate in enumerate(self._gates.values()):
            gate.extend([m.gates[place] if m.gates else 0 for m in meanings])
        self._lengths.update([m.prompt_chars for m in meanings if m.prompt_chars >= 500])
        ids = [r.id for r in records if r.id is not None]
        self._with_id += len(ids)
        self._ids.update(ids)

    def _add_blocks(self, records: Sequence[Record], meanings: Sequence[Meaning]) -> None:
        blocks = [m.blocks if r.blocks is None else r.blocks for r, m in zip(records, meanings, strict=True)]
        self._blocks.extend(map(len, blocks))
        for record, some in zip(records, blocks, strict=True):
            if some:
                self._block.extend(some)
                self._block_tokens.add(record.block_tokens or BLOCK_TOKENS)

    def _add_keys(self, meanings: Sequence[Meaning]) -> None:
        by_level = list(zip(*[m.keys for m in meanings], strict=True))
        try:
            single = all(set(map(len, keys)) == _ONE for keys in by_level)
        except TypeError:  # a key that is unknown
            single = False
        if not single:
            for meaning in meanings:
                self._add_parts(meaning)
            return
        for column, keys in zip(self._keys.values(), by_level, strict=True):
            column.extend(chain.from_iterable(keys))
        self._parts.extend([1] * len(meanings))

    def _add_parts(self, meaning: Meaning) -> None:
        parts = 1
        for name, keys in zip(self.levels, meaning.keys, strict=True):
            if keys is None:
                if meaning.reason is None:
                    self._unknown[name] = self._unknown.get(name, 0) + 1
                continue
            if len(keys) != 1:
                keys = tuple(dict.fromkeys(keys))  # parts that are equal need one entry
            parts = max(parts, len(keys))
        for name, keys in zip(self.levels, meaning.keys, strict=True):
            column = self._keys[name]
            if keys is None:
                column.extend([0] * parts)
            elif len(keys) == parts:
                column.extend(keys)
            else:
                unique = list(dict.fromkeys(keys)) or [0]
                column.extend(unique + [unique[0]] * (parts - len(unique)))
        self._parts.append(parts)

    def _groups_of(self, records: Sequence[Record], meanings: Sequence[Meaning]) -> list[int]:
        memo, found = self._group_memo, []
        for meaning, described in zip(meanings, map(_DESCRIBED, records), strict=True):
            key = (meaning.context, described)
            number = memo.get(key)
            if number is None:
                model, route, tenant, team, key_id, scope = described
                group = Group(
                    context=meaning.context,
                    model=model or meaning.context.model,
                    route=route,
                    tenant=tenant,
                    team=team,
                    key_id=key_id,
                    scope_kind=None if scope is None else scope.kind,
                    scope_id=None if scope is None else scope.id,
                )
                number = memo[key] = self._groups.setdefault(group, len(self._groups))
            found.append(number)
        return found

    def _reason_of(self, reason: str) -> int:
        if reason not in self._reasons and len(self._reasons) >= 254:
            reason = "other"
        return self._reasons.setdefault(reason, len(self._reasons) + 1)

    def batch(self, read_bytes: int, chunk: Chunk | None = None) -> Batch:
        """Return what was gathered; columns without any value are left out."""
        self._flush()
        columns: dict[str, array[Any]] = {
            name: self._columns[name]
            for name, (kind, absent) in COLUMNS.items()
            if absent is None or self._columns[name].tobytes() != array(kind, [absent]).tobytes() * self._rows
        }
        columns.update({f"key:{name}": column for name, column in self._keys.items()})
        columns.update({f"gate:{name}": column for name, column in self._gates.items()})
        if sum(self._parts) != len(self._parts):
            columns["parts"] = self._parts
        if self._block:
            columns["block"], columns["blocks"] = self._block, self._blocks
        lengths = dict(sorted(self._lengths.items(), key=lambda item: -item[1])[:20])
        return Batch(
            self._rows,
            {name: column.tobytes() for name, column in columns.items()},
            list(self._groups),
            list(self._reasons),
            self.skipped,
            self.damaged,
            self._unknown,
            lengths,
            self._with_id,
            self._with_id - len(self._ids),
            read_bytes,
            sorted(self._block_tokens),
            chunk,
        )
