"""Azure's LLM inference traces of 2023 and 2024: arrival and token counts, nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from edgeinf.analyze.csv_rows import rows
from edgeinf.analyze.readers.base import Sample, count
from edgeinf.analyze.record import Damaged, NotARequest, Record
from edgeinf.analyze.times import instant

__all__ = ["READER"]


class AzureLLMInference:
    """Reads the CSV; its times have seven decimals."""

    name = "azure-llm-inference"

    def sniff(self, sample: Sample) -> float:
        return 0.95 if {"TIMESTAMP", "ContextTokens", "GeneratedTokens"} <= sample.columns else 0.0

    def read_files(self, paths: Sequence[str]) -> Iterator[Record | Damaged | NotARequest]:
        for row in rows(paths):
            if isinstance(row, Damaged):
                yield row
                continue
            at = instant(row.get("TIMESTAMP"))
            if at is None:
                yield Damaged("no TIMESTAMP")
                continue
            yield Record(
                at=at, input_tokens=count(row.get("ContextTokens")), output_tokens=count(row.get("GeneratedTokens"))
            )


READER = AzureLLMInference()
