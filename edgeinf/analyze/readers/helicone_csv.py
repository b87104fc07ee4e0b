"""Helicone's export as CSV (``npx @helicone/export --format csv``): twelve columns, without the answers.

The columns are those that the exporter writes (github.com/Helicone/helicone, examples/export/typescript/index.ts, as
read in 2026-11); the last one is ``cost`` or, in another version, ``cost_usd``. The API's own rows name latency and
cost otherwise, so both cells are often empty, and the quotes of an object are doubled before CSV doubles them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from edgeinf.analyze.csv_rows import rows
from edgeinf.analyze.readers.base import Sample, count, decode, milliseconds, number, text
from edgeinf.analyze.record import Damaged, NotARequest, Record
from edgeinf.analyze.times import instant, seconds_between

__all__ = ["READER"]

_COLUMNS = frozenset({"response_id", "response_status", "request_created_at", "request_body", "request_properties"})


class HeliconeCsv:
    """Reads exported rows; the export's order is newest first."""

    name = "helicone-csv"

    def sniff(self, sample: Sample) -> float:
        return 0.95 if sample.columns >= _COLUMNS else 0.0

    def read_files(self, paths: Sequence[str]) -> Iterator[Record | Damaged | NotARequest]:
        for row in rows(paths):
            if isinstance(row, Damaged):
                yield row
                continue
            try:
                yield _record(row)
            except Damaged as fault:
                yield fault


def _record(row: dict[str, str]) -> Record:
    start, end = row.get("request_created_at", ""), row.get("response_created_at", "")
    at = instant(start)
    if at is None:
        raise Damaged("no request_created_at")
    properties = _object(row.get("request_properties", ""))
    latency = number(row.get("latency"))
    return Record(
        at=at,
        tenant=text(properties.get("tenant")),
        user=text(row.get("request_user_id")),
        session=text(properties.get("Helicone-Session-Id") or properties.get("session")),
        route=text(properties.get("route")),
        model=text(row.get("model")),
        request=_object(row.get("request_body", "")) or None,
        status=count(row.get("response_status")),
        latency_ms=latency if latency is not None else milliseconds(seconds_between(start, end)),
        input_tokens=count(row.get("prompt_tokens")),
        output_tokens=count(row.get("completion_tokens")),
        usd=number(row.get("cost") or row.get("cost_usd")),
        id=text(row.get("response_id")),
    )


def _object(cell: str) -> dict[str, Any]:
    """Return the object in a cell, its quotes doubled or not; an empty one for an empty cell. Raise Damaged."""
    if not cell:
        return {}
    for written in (cell, cell.replace('""', '"')):
        try:
            found = decode(written)
        except msgspec.DecodeError:
            continue
        return found if isinstance(found, dict) else {}
    raise Damaged("cut off")


READER = HeliconeCsv()
