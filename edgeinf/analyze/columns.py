"""Requests as columns of numbers: what a worker gathers from its part of a log and what all parts become together.

No object per request exists: about 70 bytes each, so that a log of a gigabyte fits beside everything else.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import xxhash

from edgeinf.analyze.blocks import BLOCK_TOKENS
from edgeinf.analyze.interpret import Context, Meaning
from edgeinf.analyze.record import Damaged, Record
from edgeinf.analyze.source import Chunk

__all__ = ["FLOATS", "Batch", "Builder", "Group"]

_NONE = -1
_NAN = float("nan")
_MOST = 2**31 - 1

ELIGIBLE, STORABLE, SAMPLED, ANSWERED, SERVED, FAILED, REDACTED = 1, 2, 4, 8, 16, 32, 64

# Columns that a chunk without any value leaves out, with what stands for "not said".
FLOATS: dict[str, Literal["d", "f"]] = {"at": "d", "latency": "f", "ttft": "f", "usd": "f"}
COUNTS = ("input", "output", "cached", "cache_write")


# Name, type and what stands for "not said"; the order is that of a row. None: the column is always there.
_COLUMNS: tuple[tuple[str, Any, float | None], ...] = (
    ("offset", "I", None),
    ("group", "I", None),
    ("flags", "B", None),
    ("reason", "B", None),
    ("question", "Q", None),
    ("user", "I", 0),
    ("session", "I", 0),
    *((name, "i", _NONE) for name in COUNTS),
    *((name, kind, _NAN) for name, kind in FLOATS.items()),
)


def _count(value: int | None) -> int:
    return _NONE if value is None else value if value < _MOST else _MOST


def _number(name: str) -> int:
    """Return a number for a name; zero stands for none. Two names share one in four thousand million times."""
    return xxhash.xxh32_intdigest(name.encode("utf-8", "surrogatepass")) or 1


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
    """Gathers the rows of one chunk."""

    def __init__(self, levels: Sequence[str], gateways: Sequence[str] = ()) -> None:
        self.levels = tuple(levels)
        self._gates = {name: array("Q") for name in gateways}
        self.rows = 0
        self.damaged = 0
        self.skipped: dict[str, int] = {}
        self._groups: dict[Group, int] = {}
        self._group_memo: dict[tuple[object, ...], int] = {}
        self._reasons: dict[str, int] = {}
        self._unknown: dict[str, int] = {}
        self._lengths: dict[int, int] = {}
        self._ids: set[int] = set()
        self._repeated_ids = self._with_id = 0
        self._rows: list[tuple[Any, ...]] = []
        self._parts = array("H")
        self._single = True
        self._block = array("Q")
        self._blocks = array("I")
        self._block_tokens: set[int] = set()
        self._keys = {level: array("Q") for level in levels}

    def skip(self, fault: Exception) -> None:
        """Count a line that gave no request."""
        self.skipped[str(fault)] = self.skipped.get(str(fault), 0) + 1
        self.damaged += isinstance(fault, Damaged)

    def add(self, record: Record, meaning: Meaning, offset: int) -> None:
        """Add one request."""
        self.rows += 1
        status = record.status
        failed = status is not None and not 200 <= status < 300
        reason = meaning.reason
        flags = 0 if reason is not None else ELIGIBLE if failed else ELIGIBLE | STORABLE
        if meaning.sampled:
            flags |= SAMPLED
        if record.answer is not None:
            flags |= ANSWERED
        if record.cache in ("hit", "stale", "collapsed"):
            flags |= SERVED
        if failed:
            flags |= FAILED
        if meaning.redacted:
            flags |= REDACTED
        self._add_keys(meaning)
        for name, number in zip(self._gates, meaning.gates or (0,) * len(self._gates), strict=True):
            self._gates[name].append(number)
        blocks = record.blocks if record.blocks is not None else meaning.blocks
        self._blocks.append(len(blocks))
        if blocks:
            self._block.extend(blocks)
            self._block_tokens.add(record.block_tokens or BLOCK_TOKENS)
        user = record.user or meaning.user
        session = record.session
        self._rows.append(
            (
                offset,
                self._group_of(record, meaning),
                flags,
                0 if reason is None else self._reason_of(reason),
                meaning.question,
                0 if user is None else _number(user),
                0 if session is None else _number(session),
                _count(record.input_tokens),
                _count(record.output_tokens),
                _count(record.cached_tokens),
                _count(record.cache_write_tokens),
                _NAN if record.at is None else record.at,
                _NAN if record.latency_ms is None else record.latency_ms,
                _NAN if record.ttft_ms is None else record.ttft_ms,
                _NAN if record.usd is None else record.usd,
            )
        )
        length = meaning.prompt_chars
        if length >= 500:
            self._lengths[length] = self._lengths.get(length, 0) + 1
        if record.id is not None:
            self._with_id += 1
            number = hash(record.id)
            if number in self._ids:
                self._repeated_ids += 1
            else:
                self._ids.add(number)

    def _add_keys(self, meaning: Meaning) -> None:
        try:
            single = [key for (key,) in meaning.keys]  # type: ignore[misc]  # a None takes the long way
        except (TypeError, ValueError):
            self._add_parts(meaning)
            return
        for column, key in zip(self._keys.values(), single, strict=True):
            column.append(key)
        self._parts.append(1)

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
        if parts != 1:
            self._single = False

    def _group_of(self, record: Record, meaning: Meaning) -> int:
        scope = record.scope
        memo = (
            meaning.context, record.model, record.route, record.tenant, record.team, record.key_id,
            None if scope is None else (scope.kind, scope.id),
        )  # fmt: skip
        found = self._group_memo.get(memo)
        if found is None:
            group = Group(
                context=meaning.context,
                model=record.model or meaning.context.model,
                route=record.route,
                tenant=record.tenant,
                team=record.team,
                key_id=record.key_id,
                scope_kind=None if scope is None else scope.kind,
                scope_id=None if scope is None else scope.id,
            )
            found = self._group_memo[memo] = self._groups.setdefault(group, len(self._groups))
        return found

    def _reason_of(self, reason: str) -> int:
        if reason not in self._reasons and len(self._reasons) >= 254:
            reason = "other"
        return self._reasons.setdefault(reason, len(self._reasons) + 1)

    def batch(self, read_bytes: int, chunk: Chunk | None = None) -> Batch:
        """Return what was gathered; columns without any value are left out."""
        columns: dict[str, array[int] | array[float]] = {}
        for (name, kind, absent), values in zip(_COLUMNS, zip(*self._rows, strict=True), strict=False):
            column: Any = array(kind, values)
            if absent is None or any(value != absent and value == value for value in values):
                columns[name] = column
        columns.update({f"key:{name}": column for name, column in self._keys.items()})
        columns.update({f"gate:{name}": column for name, column in self._gates.items()})
        if not self._single:
            columns["parts"] = self._parts
        if self._block:
            columns["block"], columns["blocks"] = self._block, self._blocks
        lengths = dict(sorted(self._lengths.items(), key=lambda item: -item[1])[:20])
        return Batch(
            self.rows,
            {name: column.tobytes() for name, column in columns.items()},
            list(self._groups),
            list(self._reasons),
            self.skipped,
            self.damaged,
            self._unknown,
            lengths,
            self._with_id,
            self._repeated_ids,
            read_bytes,
            sorted(self._block_tokens),
            chunk,
        )
