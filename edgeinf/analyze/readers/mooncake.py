"""Mooncake traces: arrival in milliseconds and, per prompt, hashes of 512-token blocks that cover the whole prefix."""

from __future__ import annotations

from edgeinf.analyze.readers.base import Sample, count, decode_line, number, text
from edgeinf.analyze.record import Damaged, Record

__all__ = ["READER"]

_BLOCK_TOKENS = 512


class Mooncake:
    """Reads one request a line; times count from the trace's start."""

    name = "mooncake"

    def sniff(self, sample: Sample) -> float:
        return 0.9 * sample.share("timestamp", "input_length", "output_length", "hash_ids")

    def read_line(self, line: bytes) -> Record:
        row = decode_line(line)
        blocks = row.get("hash_ids")
        if not isinstance(blocks, list) or not all(isinstance(b, int) for b in blocks):
            raise Damaged("no hash_ids in it")
        at = number(row.get("timestamp"))
        return Record(
            at=None if at is None else at / 1000,
            session=text(row.get("session_id")),
            input_tokens=count(row.get("input_length")),
            output_tokens=count(row.get("output_length")),
            blocks=blocks,
            block_tokens=_BLOCK_TOKENS,
        )


READER = Mooncake()
