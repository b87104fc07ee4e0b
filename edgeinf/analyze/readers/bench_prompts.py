"""Inputs of load generators: vLLM's custom prompts and AIPerf's turns; what is sent, without answers."""

from __future__ import annotations

from typing import Any

from edgeinf.analyze.readers.base import Sample, count, decode_line, number, text
from edgeinf.analyze.record import CHAT, Damaged, Record

__all__ = ["READER"]

_MODEL = "unknown"


class BenchPrompts:
    """Reads ``{"prompt": …}`` and ``{"turns": […]}`` lines."""

    name = "bench-prompts"

    def sniff(self, sample: Sample) -> float:
        bare = sum(set(v) <= {"prompt", "output_tokens", "text", "text_input"} and "prompt" in v for v in sample.values)
        turns = sum(isinstance(v.get("turns"), list) for v in sample.values)
        return 0.9 * max(bare, turns) / len(sample.values) if sample.values else 0.0

    def read_line(self, line: bytes) -> Record | list[Record]:
        row = decode_line(line)
        if isinstance(row.get("turns"), list):
            return _turns(row)
        said = row.get("prompt", row.get("text_input", row.get("text")))
        if not isinstance(said, str):
            raise Damaged("no prompt in it")
        return Record(path=CHAT, request=_request([said]), output_tokens=count(row.get("output_tokens")))


def _turns(row: dict[str, Any]) -> list[Record]:
    """Return one request per turn; the answers between them are not known, so only what the user said is history."""
    said: list[str] = []
    found: list[Record] = []
    at: float | None = None
    for turn in row["turns"]:
        if not isinstance(turn, dict) or not isinstance(turn.get("text"), str):
            raise Damaged("a turn without text")
        said.append(turn["text"])
        own, delay = number(turn.get("timestamp")), number(turn.get("delay"))
        at = own / 1000 if own is not None else at + delay / 1000 if at is not None and delay is not None else None
        found.append(Record(at=at, session=text(row.get("session_id")), path=CHAT, request=_request(said)))
    if not found:
        raise Damaged("no turns in it")
    return found


def _request(said: list[str]) -> dict[str, Any]:
    return {"model": _MODEL, "messages": [{"role": "user", "content": text} for text in said]}


READER = BenchPrompts()
