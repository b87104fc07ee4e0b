"""A log that can be shared: edgeinf events with keys instead of prompts, names hashed, which analyse to the same hits.

Keys are BLAKE2b keyed with a secret that is drawn for the file and forgotten, so that short prompts cannot be guessed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from edgeinf.analyze.columns import ELIGIBLE, FAILED
from edgeinf.analyze.log import Log
from edgeinf.analyze.readers.edgeinf_events import UNTIMED
from edgeinf.analyze.record import Record, call_of
from edgeinf.analyze.scopes import scope_name
from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.events import Event, EventKeys, EventScope, encode
from edgeinf.core.key import canonical_forms, event_key, hash_id, key_space
from edgeinf.core.normalize.levels import level

__all__ = ["redacted"]

_AT_ONCE = 2_000


def redacted(log: Log, scope: str | None, secret: bytes | None = None) -> Iterator[bytes]:
    """Yield the lines of the shareable log, in order of time."""
    secret = secret or os.urandom(32)
    space = key_space(secret)
    for start in range(0, log.rows, _AT_ONCE):
        rows = np.arange(start, min(start + _AT_ONCE, log.rows))
        for row, record in sorted(log.fetch(rows), key=lambda pair: pair[0]):
            yield encode(_event(log, row, record, scope, secret, space))


def _event(log: Log, row: int, record: Record, scope: str | None, secret: bytes, space: str) -> Event:
    group = log.groups[int(log.group[row])]
    eligible = bool(log.flags[row] & ELIGIBLE)
    failed = bool(log.flags[row] & FAILED)

    def named(value: str | None) -> str | None:
        return None if value is None else hash_id(value, secret)

    user, keys = _user_and_keys(log, record, secret)
    served = record.cache in ("hit", "stale", "collapsed")
    return Event(
        at=UNTIMED if log.at is None else float(log.at[row]),
        dialect=group.context.dialect or group.context.path,
        model=group.model or None,
        tenant=named(record.tenant),
        team=named(record.team),
        key_id=named(record.key_id),
        user=named(user),
        session=named(record.session),
        route=record.route,
        cache="bypass" if not eligible else record.cache if served and record.cache else "miss",
        reason=None if eligible else log.reasons[int(log.reason[row])],
        stored=eligible and not failed,
        keys=keys,
        key_space=space,
        scope=EventScope(kind=scope or group.scope_kind or "key", id=hash_id(scope_name(group, scope), secret)),
        status=record.status or 200,
        input_tokens=record.input_tokens,
        output_tokens=record.output_tokens,
        cached_tokens=record.cached_tokens,
        cache_write_tokens=record.cache_write_tokens,
        usd=record.usd,
        ttft_ms=record.ttft_ms,
        total_ms=record.latency_ms,
    )


def _user_and_keys(log: Log, record: Record, secret: bytes) -> tuple[str | None, EventKeys]:
    if record.keys is not None:
        again = {
            name: None if (names := getattr(record.keys, name)) is None else [_rehashed(n, secret) for n in names]
            for name in ("exact", "safe", "loose", "masked")
        }
        return record.user, EventKeys(**again)
    try:
        call = call_of(record)
        if call is None:
            return record.user, EventKeys()
        dialect = by_name(call.dialect)
        found: dict[str, Any] = {}
        for name in log.plan.levels:
            rule = level(name) if log.plan.masks is None else level(name, log.plan.masks)
            found[name] = [event_key(form, secret) for form in canonical_forms(call, dialect, rule)]
    except CallError:
        return record.user, EventKeys()
    return record.user or call.user, EventKeys(**found)


def _rehashed(name: str, secret: bytes) -> str:
    return hash_id(name, secret) + hash_id(name + "+", secret)
