"""WildChat: conversations with the time of their last turn and a hashed address, which stands for the user."""

from __future__ import annotations

from edgeinf.analyze.conversations import turns
from edgeinf.analyze.readers.base import Sample, decode_line, text
from edgeinf.analyze.record import NotARequest, Record
from edgeinf.analyze.times import instant, seconds_between

__all__ = ["READER"]


class WildChat:
    """Reads one conversation a line; a turn's own time is used where there is one."""

    name = "wildchat"

    def sniff(self, sample: Sample) -> float:
        return 0.95 * max(
            sample.share("conversation_hash", "conversation", "timestamp"),
            sample.share("hashed_ip", "conversation", "timestamp"),
        )

    def read_line(self, line: bytes) -> list[Record]:
        row = decode_line(line)
        found = turns(
            row.get("conversation"),
            model=text(row.get("model")),
            session=text(row.get("conversation_hash") or row.get("_id")),
            at=instant(row.get("timestamp")),
            user=text(row.get("hashed_ip")),
        )
        if not found:
            raise NotARequest("a conversation in which no user speaks")
        last = row["conversation"][-1]
        if isinstance(last, dict) and last.get("role") == "assistant":
            seconds = seconds_between(row.get("timestamp"), last.get("timestamp"))
            found[-1].latency_ms = None if not seconds else seconds * 1000
        return found


READER = WildChat()
