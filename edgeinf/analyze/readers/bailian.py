"""Qwen-Bailian traces: arrival in seconds, conversations by parent, hashes of 16-token blocks."""

from __future__ import annotations

from edgeinf.analyze.blocks import chained
from edgeinf.analyze.readers.base import Sample, count, decode_line, number, text
from edgeinf.analyze.record import Damaged, Record

__all__ = ["READER"]

_BLOCK_TOKENS = 16


class Bailian:
    """Reads one request a line. Hashes are per block there, so a prefix matches only as far as it is unbroken."""

    name = "bailian"

    def sniff(self, sample: Sample) -> float:
        return 0.95 * sample.share("chat_id", "parent_chat_id", "hash_ids")

    def read_line(self, line: bytes) -> Record:
        row = decode_line(line)
        blocks = row.get("hash_ids")
        if not isinstance(blocks, list) or not all(isinstance(b, int) for b in blocks):
            raise Damaged("no hash_ids in it")
        parent = row.get("parent_chat_id")
        return Record(
            at=number(row.get("timestamp")),
            session=text(row.get("chat_id") if parent in (-1, None) else parent),
            route=text(row.get("type")),
            input_tokens=count(row.get("input_length")),
            output_tokens=count(row.get("output_length")),
            blocks=chained(blocks),
            block_tokens=_BLOCK_TOKENS,
            id=text(row.get("chat_id")),
        )


READER = Bailian()
