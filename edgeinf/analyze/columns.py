"""Requests as columns of numbers: what a worker gathers from its part of a log and what all parts become together.

No object per request exists: about 70 bytes each, so that a log of a gigabyte fits beside everything else.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Literal

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
        self._offset = array("I")
        self._group = array("I")
        self._flags = array("B")
        self._reason = array("B")
        self._parts = array("H")
        self._single = True
        self._block = array("Q")
        self._blocks = array("I")
        self._block_tokens: set[int] = set()
        self._user = array("Q")
        self._session = array("Q")
        self._question = array("Q")
        self._keys = {level: array("Q") for level in levels}
        self._counts = {name: array("i") for name in COUNTS}
        self._floats: dict[str, array[float]] = {name: array(kind) for name, kind in FLOATS.items()}

    def skip(self, fault: Exception) -> None:
        """Count a line that gave no request."""
        self.skipped[str(fault)] = self.skipped.get(str(fault), 0) + 1
        self.damaged += isinstance(fault, Damaged)

    def add(self, record: Record, meaning: Meaning, offset: int) -> None:
        """Add one request."""
        self.rows += 1
        self._offset.append(offset)
        self._group.append(self._group_of(record, meaning))
        status = record.status
        failed = status is not None and not 200 <= status < 300
        flags = 0
        reason = meaning.reason
        if reason is None:
            flags |= ELIGIBLE
            if not failed:
                flags |= STORABLE
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
        self._flags.append(flags)
        self._reason.append(0 if reason is None else self._reason_of(reason))
        self._add_keys(meaning)
        for name, number in zip(self._gates, meaning.gates or (0,) * len(self._gates), strict=True):
            self._gates[name].append(number)
        blocks = record.blocks if record.blocks is not None else meaning.blocks
        self._blocks.append(len(blocks))
        if blocks:
            self._block.extend(blocks)
            self._block_tokens.add(record.block_tokens or BLOCK_TOKENS)
        user = record.user or meaning.user
        self._user.append(0 if user is None else xxhash.xxh3_64_intdigest(user.encode("utf-8", "surrogatepass")) or 1)
        session = record.session
        self._session.append(
            0 if session is None else xxhash.xxh3_64_intdigest(session.encode("utf-8", "surrogatepass")) or 1
        )
        self._question.append(meaning.question)
        self._number(record.input_tokens, self._counts["input"])
        self._number(record.output_tokens, self._counts["output"])
        self._number(record.cached_tokens, self._counts["cached"])
        self._number(record.cache_write_tokens, self._counts["cache_write"])
        floats = self._floats
        floats["at"].append(_NAN if record.at is None else record.at)
        floats["latency"].append(_NAN if record.latency_ms is None else record.latency_ms)
        floats["ttft"].append(_NAN if record.ttft_ms is None else record.ttft_ms)
        floats["usd"].append(_NAN if record.usd is None else record.usd)
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

    @staticmethod
    def _number(value: int | None, column: array[int]) -> None:
        column.append(_NONE if value is None else value if value < _MOST else _MOST)

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
        columns: dict[str, array[int] | array[float]] = {
            "offset": self._offset,
            "group": self._group,
            "flags": self._flags,
            "reason": self._reason,
            "question": self._question,
            **{f"key:{name}": column for name, column in self._keys.items()},
            **{f"gate:{name}": column for name, column in self._gates.items()},
        }
        if not self._single:
            columns["parts"] = self._parts
        if self._block:
            columns["block"], columns["blocks"] = self._block, self._blocks
        for name, hashes in (("user", self._user), ("session", self._session)):
            if any(hashes):
                columns[name] = hashes
        for name, counts in self._counts.items():
            if counts and max(counts) >= 0:
                columns[name] = counts
        for name, floats in self._floats.items():
            if any(value == value for value in floats):
                columns[name] = floats
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
