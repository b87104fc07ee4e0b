"""LMSYS-Chat-1M: conversations without times or users."""

from __future__ import annotations

from edgeinf.analyze.conversations import turns
from edgeinf.analyze.readers.base import Sample, decode_line, text
from edgeinf.analyze.record import NotARequest, Record

__all__ = ["READER"]


class Lmsys:
    """Reads one conversation a line."""

    name = "lmsys"

    def sniff(self, sample: Sample) -> float:
        return 0.9 * sample.share("conversation_id", "conversation", "model")

    def read_line(self, line: bytes) -> list[Record]:
        row = decode_line(line)
        found = turns(row.get("conversation"), model=text(row.get("model")), session=text(row.get("conversation_id")))
        if not found:
            raise NotARequest("a conversation in which no user speaks")
        return found


READER = Lmsys()
