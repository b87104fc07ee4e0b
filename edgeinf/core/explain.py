"""Why two calls do or do not share a key.

Each difference between two bodies is tried alone: put into the first body, at which level does the key stay what it
was? That is where the difference is merged. So the answer comes from the very code that makes keys.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from edgeinf.core.cacheable import BYPASS_REASONS, CachePolicy, bypass_reason
from edgeinf.core.call import Call
from edgeinf.core.dialects.base import Dialect
from edgeinf.core.errors import CallError
from edgeinf.core.key import NO_EXTRAS, KeyExtras, canonical_forms, digest_of
from edgeinf.core.normalize.levels import DEFAULT_MASK, LEVELS, Level, level

__all__ = ["Bypass", "Difference", "Explanation", "LevelKeys", "differences", "explain"]

_SHOWN = 160  # characters of a text around its first difference
_MOST = 200  # differences that are looked at; two unlike bodies have one in every line


class LevelKeys(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of both calls at one level; of a call with several keys the digest of all."""

    key_a: str
    key_b: str
    same: bool


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One place where the bodies differ. ``merged_at`` is the first level that overlooks it, or None.

    Kinds: ignored (no part of the key), absent (in one body only), type, order (of a schema's properties), text, value.
    """

    path: str
    a: Any
    b: Any
    kind: str
    merged_at: str | None


class Bypass(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call is neither looked up nor stored; ``side`` is a, b or both."""

    reason: str
    detail: str
    side: str


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """All of it, in the shape of the command's JSON."""

    levels: dict[str, LevelKeys]
    differences: list[Difference]
    bypass: list[Bypass]
    truncated: bool = False  # there are more differences than are listed


class _Missing:
    def __repr__(self) -> str:
        return "absent"


_MISSING: Any = _Missing()
_Path = tuple[str | int, ...]


def explain(
    a: Call,
    b: Call,
    dialect: Dialect,
    *,
    policy: CachePolicy | None = None,
    extras: KeyExtras = NO_EXTRAS,
    mask: tuple[str, ...] = DEFAULT_MASK,
) -> Explanation:
    """Compare two calls of one dialect. Raise CallError where a body has no canonical form."""
    levels = [level(name, mask=mask) for name in LEVELS]
    keys_a = {at.name: _key(a, dialect, at, extras) for at in levels}
    keys_b = {at.name: _key(b, dialect, at, extras) for at in levels}
    found = list(_limited(differences(a.body, b.body), _MOST + 1))
    return Explanation(
        levels={
            name: LevelKeys(key_a=keys_a[name], key_b=keys_b[name], same=keys_a[name] == keys_b[name])
            for name in keys_a
        },
        differences=[
            _difference(a, dialect, place, left, right, levels, extras, keys_a) for place, left, right in found[:_MOST]
        ],
        bypass=_bypasses(a, b, dialect, policy or CachePolicy()),
        truncated=len(found) > _MOST,
    )


def differences(a: Any, b: Any, at: _Path = ()) -> Iterator[tuple[_Path, Any, Any]]:
    """Yield (path, value in a, value in b) for every place where two parsed bodies differ."""
    if isinstance(a, dict) and isinstance(b, dict):
        for field in [*a, *(field for field in b if field not in a)]:
            yield from differences(a.get(field, _MISSING), b.get(field, _MISSING), (*at, field))
        if at and at[-1] == "properties" and list(a) != list(b) and set(a) == set(b):
            yield at, a, b
    elif isinstance(a, list) and isinstance(b, list):
        for index in range(max(len(a), len(b))):
            left = a[index] if index < len(a) else _MISSING
            yield from differences(left, b[index] if index < len(b) else _MISSING, (*at, index))
    elif type(a) is not type(b) or a != b:
        yield at, a, b


def _limited(items: Iterator[tuple[_Path, Any, Any]], most: int) -> Iterator[tuple[_Path, Any, Any]]:
    for _, item in zip(range(most), items, strict=False):
        yield item


def _key(call: Call, dialect: Dialect, at: Level, extras: KeyExtras) -> str:
    forms = canonical_forms(call, dialect, at, extras)
    return digest_of([[form.head.hex(), form.body.hex()] for form in forms])


def _difference(
    call: Call,
    dialect: Dialect,
    place: _Path,
    left: Any,
    right: Any,
    levels: Sequence[Level],
    extras: KeyExtras,
    keys: dict[str, str],
) -> Difference:
    merged_at = None
    try:
        other = dialect.read(call.path, call.query, _with(call.body, place, left, right))
        merged_at = next((at.name for at in levels if _key(other, dialect, at, extras) == keys[at.name]), None)
    except CallError:
        pass  # the first body is no call with this difference alone
    if isinstance(left, dict) and isinstance(right, dict):
        kind, left, right = "order", list(left), list(right)
    elif merged_at == "exact":
        kind = "ignored"
    elif left is _MISSING or right is _MISSING:
        kind = "absent"
    elif type(left) is not type(right) and not {type(left), type(right)} <= {int, float}:
        kind = "type"
    else:
        kind = "text" if isinstance(left, str) else "value"
    shown_a, shown_b = _excerpts(left, right)
    return Difference(path=_written(place), a=shown_a, b=shown_b, kind=kind, merged_at=merged_at)


def _with(body: Any, place: _Path, left: Any, right: Any) -> Any:
    """Return a copy of the first body with what the second has at this place."""
    done = copy.deepcopy(body)
    inner = done
    for step in place[:-1]:
        inner = inner[step]
    last = place[-1]
    if isinstance(left, dict) and isinstance(right, dict):
        inner[last] = {field: left[field] for field in right}
    elif right is _MISSING:
        del inner[last]
    elif isinstance(inner, list) and left is _MISSING:
        inner.append(right)
    else:
        inner[last] = right
    return done


def _written(place: _Path) -> str:
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def _excerpts(left: Any, right: Any) -> tuple[Any, Any]:
    """Return both values as shown: long texts around where they part; what is absent as None."""
    if isinstance(left, str) and isinstance(right, str) and max(len(left), len(right)) > _SHOWN:
        parted = next(
            (i for i, (x, y) in enumerate(zip(left, right, strict=False)) if x != y), min(len(left), len(right))
        )
        return _excerpt(left, parted), _excerpt(right, parted)
    return _short(left), _short(right)


def _excerpt(text: str, around: int) -> str:
    start = max(0, around - _SHOWN // 2)
    piece = text[start : start + _SHOWN]
    return f"{'…' if start else ''}{piece}{'…' if start + _SHOWN < len(text) else ''}"


def _short(value: Any) -> Any:
    if value is _MISSING:
        return None
    if isinstance(value, str):
        return _excerpt(value, 0)
    written = msgspec.json.encode(value).decode() if isinstance(value, dict | list) else ""
    return _excerpt(written, 0) if len(written) > _SHOWN else value


def _bypasses(a: Call, b: Call, dialect: Dialect, policy: CachePolicy) -> list[Bypass]:
    of = {side: _reasons(call, dialect, policy) for side, call in (("a", a), ("b", b))}
    return [
        Bypass(
            reason=reason,
            detail=BYPASS_REASONS.get(reason, ""),
            side="both" if reason in of["a"] and reason in of["b"] else "a" if reason in of["a"] else "b",
        )
        for reason in dict.fromkeys([*of["a"], *of["b"]])
    ]


def _reasons(call: Call, dialect: Dialect, policy: CachePolicy) -> list[str]:
    """Return every reason, not only the first that the cache goes by."""
    reasons = [reason for reason in dialect.bypass(call) if reason not in policy.allow]
    first = bypass_reason(call, dialect, policy)
    return [*reasons, *([first] if first and first not in reasons else [])]
