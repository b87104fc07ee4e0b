"""Agent traces of kv-cache-tester: one conversation a file, hashes of 64-token blocks that mean nothing outside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from edgeinf.analyze.blocks import chained
from edgeinf.analyze.readers.base import Sample, count, decode, milliseconds, number, text
from edgeinf.analyze.record import Damaged, NotARequest, Record

__all__ = ["READER"]


class KvCacheTester:
    """Reads conversations, with the sub-agents nested in them."""

    name = "kv-cache-tester"

    def sniff(self, sample: Sample) -> float:
        return 0.95 * sample.share("block_size", "requests", "hash_id_scope")

    def read_files(self, paths: Sequence[str]) -> Iterator[Record | Damaged | NotARequest]:
        for path in paths:
            with open(path, "rb") as file:
                data = file.read()
            for line in _documents(data):
                if isinstance(line, dict) and isinstance(line.get("requests"), list):
                    yield from _records(line, line["requests"])
                else:
                    yield Damaged("not a trace")


def _documents(data: bytes) -> Iterator[Any]:
    try:
        yield decode(data)
    except msgspec.DecodeError:
        for line in data.splitlines():
            if line.strip():
                try:
                    yield decode(line)
                except msgspec.DecodeError:
                    yield None


def _records(trace: dict[str, Any], requests: list[Any]) -> Iterator[Record | Damaged]:
    salt = "" if trace.get("hash_id_scope") == "global" else str(trace.get("id"))
    for row in requests:
        if not isinstance(row, dict):
            yield Damaged("not a request")
            continue
        if isinstance(row.get("requests"), list):  # a sub-agent
            yield from _records(trace, row["requests"])
            continue
        ids = row.get("hash_ids")
        yield Record(
            at=number(row.get("t")),
            session=text(trace.get("id")),
            model=text(row.get("model")),
            latency_ms=milliseconds(number(row.get("api_time"))),
            ttft_ms=milliseconds(number(row.get("ttft"))),
            input_tokens=count(row.get("in")),
            output_tokens=count(row.get("out")),
            blocks=chained([i for i in ids if isinstance(i, int)], salt) if isinstance(ids, list) else None,
            block_tokens=count(trace.get("block_size")) or 64,
        )


READER = KvCacheTester()
