"""The latest requests, and why each was answered as it was.

Of a call that missed, its parsed body is remembered for as long as it is recent. When somebody looks, each body
becomes a signature: one keyed digest per part. Comparing signatures says in what a call differs from the nearest
earlier one without a word of a prompt leaving the process.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from edgeinf.core.call import Call
from edgeinf.core.events import REFRESH, Event

__all__ = ["KEPT", "Recent", "Row", "explain_rows", "signature"]

KEPT = 300
_MAX_BODY = 256 * 1024
_MAX_HELD = 16 * 2**20
_MAX_PARTS = 400

# Fields that never tell two questions apart; core/key.py and the dialects hold the full rule.
_UNKEYED = frozenset(
    {
        "stream",
        "stream_options",
        "user",
        "metadata",
        "safety_identifier",
        "prompt_cache_key",
        "prompt_cache_retention",
        "encoding_format",
    }
)


class Row(msgspec.Struct, kw_only=True):
    """One recent request; ``parts`` is the signature of a call, where it is known."""

    event: Event
    parts: dict[str, str] | None = None
    why: str = ""
    nearest: str | None = None  # the id of the nearest earlier call
    differs: list[str] = []  # the parts in which it differs from that


class _Held:
    __slots__ = ("call", "event", "parts", "size")

    def __init__(self, event: Event, call: Call | None, size: int) -> None:
        self.event, self.call, self.size = event, call, size
        self.parts: dict[str, str] | None = None


class Recent:
    """A ring of the last ``KEPT`` requests; bodies are bounded in bytes and the oldest go first."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._ring: deque[_Held] = deque(maxlen=KEPT)
        self._held_bytes = 0

    def add(self, event: Event, call: Call | None, size: int) -> None:
        """Remember a request; ``size`` is that of its body."""
        if len(self._ring) == KEPT:
            self._let_go(self._ring[0])
        keep = call if call is not None and size <= _MAX_BODY else None
        held = _Held(event, keep, size if keep is not None else 0)
        self._held_bytes += held.size
        self._ring.append(held)
        if self._held_bytes > _MAX_HELD:
            for older in self._ring:
                self._let_go(older)
                if self._held_bytes <= _MAX_HELD // 2:
                    break

    def rows(self) -> list[Row]:
        """Return the requests, oldest first, with the signatures of those whose body is still known."""
        for held in self._ring:
            if held.call is not None and held.parts is None:
                held.parts = signature(held.call, self._secret)
                self._let_go(held)
        return [Row(event=held.event, parts=held.parts) for held in self._ring]

    def _let_go(self, held: _Held) -> None:
        self._held_bytes -= held.size
        held.call, held.size = None, 0


def signature(call: Call, secret: bytes) -> dict[str, str]:
    """Return a digest per part of a call: each field, and each message, tool and content part by its place."""
    found = {"model": _digest(call.model, secret)}
    for path, value in _parts(call.body):
        if len(found) >= _MAX_PARTS:
            break
        found[path] = _digest(value, secret)
    return found


def _parts(body: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in body.items():
        if name in _UNKEYED or name == "model":
            continue
        if isinstance(value, list) and value and name in ("messages", "input", "tools", "system", "documents"):
            for index, item in enumerate(value):
                if isinstance(item, dict):
                    for field, inner in item.items():
                        yield f"{name}[{index}].{field}", inner
                else:
                    yield f"{name}[{index}]", item
        else:
            yield name, value


def _digest(value: Any, secret: bytes) -> str:
    encoded = msgspec.json.encode(value, order="sorted")
    return hashlib.blake2b(encoded, digest_size=8, key=secret[:64]).hexdigest()


def explain_rows(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of all processes, oldest first, each with its why."""
    ordered = sorted(rows, key=lambda row: row.event.at)
    seen: dict[str, Row] = {}  # event key -> the latest earlier request with it
    earlier: list[Row] = []
    for row in ordered:
        row.why = _why(row, seen, earlier)
        key = _key(row.event)
        if key is not None:
            seen[key] = row
        if row.parts is not None:
            earlier.append(row)
    return ordered


def _key(event: Event) -> str | None:
    if event.level is None or event.scope is None:
        return None
    names = getattr(event.keys, event.level, None)
    return f"{event.scope.kind}/{event.scope.id}/{event.level}/{'+'.join(names)}" if names else None


def _why(row: Row, seen: dict[str, Row], earlier: list[Row]) -> str:
    event = row.event
    if event.reason == REFRESH:
        return "fetched behind a stale answer"
    match event.cache:
        case "hit":
            return f"hit: {event.tier or 'cache'}, {_age(event.age_s)} old"
        case "collapsed":
            return "shared the answer of an equal call under way"
        case "stale":
            return f"stale, {_age(event.age_s)} old: {event.error or 'the origin failed'}"
        case "miss":
            return _why_missed(row, seen, earlier)
    if event.error is not None and event.reason is None:
        return f"refused: {event.error}"
    return f"not cacheable: {event.reason or 'by request'}"


def _why_missed(row: Row, seen: dict[str, Row], earlier: list[Row]) -> str:
    event = row.event
    if event.age_s is not None:
        return f"miss: expired, {_age(event.age_s)} old"
    key = _key(event)
    before = seen.get(key) if key is not None else None
    if before is not None:
        row.nearest = before.event.id
        if before.event.stored or before.event.cache == "hit":
            return "miss: asked before, and no longer kept, or a fresh answer was asked for"
        return f"miss: asked before, but not stored: {before.event.reason or before.event.error or 'not yet complete'}"
    near = _nearest(row, earlier)
    if near is None:
        return "miss: first seen"
    row.nearest, row.differs = near
    if not row.differs:
        return "miss: the same question in another scope, namespace or level"
    shown = ", ".join(row.differs[:3]) + (f" and {len(row.differs) - 3} more" if len(row.differs) > 3 else "")
    return (
        f"miss: differs only in {shown}" if len(row.differs) <= 3 else f"miss: first seen; nearest differs in {shown}"
    )


def _nearest(row: Row, earlier: list[Row]) -> tuple[str, list[str]] | None:
    """Return the id of the earlier call that shares most parts, and the parts in which it differs."""
    if row.parts is None:
        return None
    best: tuple[int, str, list[str]] | None = None
    mine = row.parts.items()
    for other in reversed(earlier):
        if other.parts is None or other.event.dialect != row.event.dialect:
            continue
        differing = {path for path, _ in mine ^ other.parts.items()}
        # Nearest means: at least half of the parts are the same.
        if 2 * len(differing) > max(len(row.parts), len(other.parts)):
            continue
        if best is None or len(differing) < best[0]:
            best = (len(differing), other.event.id, sorted(differing))
    return None if best is None else best[1:]


def _age(age_s: float | None) -> str:
    if age_s is None:
        return "?"
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if age_s >= size:
            return f"{age_s / size:.0f} {unit}"
    return f"{age_s:.0f} s"
