"""A log's requests in the order in which the analysis counts them, to be sent again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import msgspec
import numpy as np

from edgeinf.analyze.columns import Group
from edgeinf.analyze.log import Log
from edgeinf.analyze.options import Options
from edgeinf.analyze.record import Record, path_for
from edgeinf.analyze.run import read
from edgeinf.analyze.scopes import scope_name
from edgeinf.analyze.source import open_sources
from edgeinf.core.errors import UsageError
from edgeinf.core.wire.canonical import parse_object

__all__ = ["Again", "again"]

_AHEAD = 2_000


class Again(msgspec.Struct, frozen=True, kw_only=True):
    """One request to send again."""

    at: float | None
    path: str
    body: bytes
    scope: str
    session: str | None
    route: str | None


def again(options: Options, stack: ExitStack, say: Callable[[str, int, int], None]) -> tuple[int, Iterator[Again]]:
    """Return how many requests there are and an iterator over them, in order of time. Raise UsageError."""
    sources = open_sources(options.files, stack)
    log = read(options, sources, say)
    if all(not g.context.dialect for g in log.groups):
        raise UsageError(
            "the log holds no request bodies, so there is nothing to send",
            hint="events carry them with events.bodies: true",
        )
    return log.rows, _in_order(log, options)


def _in_order(log: Log, options: Options) -> Iterator[Again]:
    """Read the log again, a few thousand requests at a time."""
    for start in range(0, log.rows, _AHEAD):
        rows = np.arange(start, min(start + _AHEAD, log.rows))
        found = sorted(log.fetch(rows), key=lambda pair: pair[0])
        for row, record in found:
            if record.request is not None:
                yield _again(log.groups[int(log.group[row])], record, options)


def _again(group: Group, record: Record, options: Options) -> Again:
    if isinstance(record.request, bytes):
        body = record.request
        path = record.path or group.context.path or path_for(parse_object(body))
    else:
        body = msgspec.json.encode(record.request)
        path = record.path or path_for(record.request or {})
    return Again(
        at=record.at,
        path=path,
        body=body,
        scope=scope_name(group, options.scope),
        session=record.session,
        route=record.route,
    )
