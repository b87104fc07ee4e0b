"""What would a request body meet here? Nothing is sent to an origin, and no word of a prompt leaves the process."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from edgeinf.core.cacheable import bypass_reason
from edgeinf.core.call import Call
from edgeinf.core.dialects import dialects, for_path
from edgeinf.core.dialects.base import Dialect
from edgeinf.core.errors import CallError
from edgeinf.core.events import Event
from edgeinf.core.key import KeyExtras, canonical_forms, event_key
from edgeinf.core.normalize.levels import LEVELS
from edgeinf.core.wire.canonical import parse_object
from edgeinf.serve.observe.recent import Row, explain_rows, signature

if TYPE_CHECKING:
    from edgeinf.serve.runtime import Runtime

__all__ = ["explain_body"]


def explain_body(raw: bytes, rows: Sequence[Row], runtime: Runtime) -> dict[str, Any]:
    """Compare ``{"path": …, "body": {…}}`` with the recent requests. Raise CallError where it is no such document.

    The keys are those of a request without a namespace, a sample or forwarded headers.
    """
    call, dialect = _read(raw)
    bypass = list(dict.fromkeys([*dialect.bypass(call), bypass_reason(call, dialect, runtime.generation.policy)]))
    reasons = [reason for reason in bypass if reason is not None and reason not in runtime.generation.policy.allow]
    row = Row(
        event=Event(at=time.time(), dialect=call.dialect, model=call.model, cache="miss"),
        parts=signature(call, runtime.secret),
    )
    explain_rows([*rows, row])
    names = _names(call, dialect, runtime)
    met = {
        name: [r.event for r in rows if names[name] and getattr(r.event.keys, name) == names[name]] for name in names
    }
    merged_at = next((name for name in names if met[name]), None)
    near = next((r for r in rows if r.event.id == row.nearest), None)
    return {
        "schema_version": 1,
        "why": _why(reasons, merged_at, row),
        "levels": {name: {"keys": names[name], "seen": len(met[name])} for name in names},
        "merged_at": merged_at,
        "bypass": [{"reason": reason} for reason in reasons],
        "nearest": None if near is None else msgspec.to_builtins(near.event),
        "parts": [{"path": path, "verdict": "differs"} for path in row.differs],
    }


def _read(raw: bytes) -> tuple[Call, Dialect]:
    document = parse_object(raw)
    path, body = document.get("path", "/v1/chat/completions"), document.get("body")
    dialect = for_path(path) if isinstance(path, str) else None
    if dialect is None:
        known = ", ".join(sorted(path for each in dialects().values() for path in each.paths))
        raise CallError(f"no dialect claims {path!r}", code="unknown_path", param="path", hint=f"one of: {known}")
    if not isinstance(body, dict):
        raise CallError("'body' must be a request body", code="invalid_value", param="body")
    return dialect.read(str(path), "", body), dialect


def _names(call: Call, dialect: Dialect, runtime: Runtime) -> dict[str, list[str]]:
    generation = runtime.generation
    extras = KeyExtras(origin=generation.group(dialect.family, call.model))
    levels = {**LEVELS, generation.level.name: generation.level}
    return {
        name: [event_key(form, runtime.secret) for form in canonical_forms(call, dialect, level, extras)]
        for name, level in levels.items()
    }


def _why(reasons: list[str], merged_at: str | None, row: Row) -> str:
    if reasons:
        return f"never cached: {', '.join(reasons)}"
    if merged_at is not None:
        return f"asked before, as level {merged_at} sees it"
    if row.nearest is None:
        return "nothing like it among the recent requests"
    if not row.differs:
        return "asked before in other words, or with another namespace, sample or header"
    return f"the nearest recent request differs in {len(row.differs)} of {len(row.parts or ())} parts"
