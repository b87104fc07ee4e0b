"""A short, redacted line that lets a person recognise a request."""

from __future__ import annotations

import numpy as np

from edgeinf.analyze.asking import last_question
from edgeinf.analyze.log import Log
from edgeinf.analyze.record import Record, call_of
from edgeinf.core.errors import CallError
from edgeinf.core.redact import redact

__all__ = ["label", "labels"]

_CHARS = 120


def label(record: Record) -> str | None:
    """Return the start of a request's question; None where the log has no content."""
    try:
        call = call_of(record)
    except CallError:
        return None
    if call is None:
        return None
    said = " ".join(redact(last_question(call)).split())
    return said if len(said) <= _CHARS else said[: _CHARS - 1] + "…"


def labels(log: Log, rows: list[int]) -> dict[int, str | None]:
    """Return the labels of some rows."""
    return {row: label(record) for row, record in log.fetch(np.array(rows, np.int64))} if rows else {}
