"""BurstGPT: arrival times, models and token counts of a campus, without content."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgeinf.analyze.csv_rows import rows
from edgeinf.analyze.readers.base import Sample, count, milliseconds, number
from edgeinf.analyze.record import Damaged, NotARequest, Record

__all__ = ["READER"]


class BurstGPT:
    """Reads both versions of the file; an answer of no tokens is a failure."""

    name = "burstgpt"

    def sniff(self, sample: Sample) -> float:
        return 0.95 if {"Timestamp", "Model", "Request tokens", "Response tokens"} <= sample.columns else 0.0

    def read_files(self, paths: Sequence[str]) -> Iterator[Record | Damaged | NotARequest]:
        for row in rows(paths):
            if isinstance(row, Damaged):
                yield row
                continue
            at, output = number(row.get("Timestamp")), count(row.get("Response tokens"))
            if at is None:
                yield Damaged("no Timestamp")
                continue
            yield Record(
                at=at,
                session=row.get("Session ID") or None,
                route=row.get("Log Type") or None,
                model=row.get("Model") or None,
                status=500 if output == 0 else 200,
                latency_ms=milliseconds(number(row.get("Elapsed time"))),
                input_tokens=count(row.get("Request tokens")),
                output_tokens=output,
            )


READER = BurstGPT()
