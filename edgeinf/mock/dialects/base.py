"""What a dialect of the mock must offer, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

import msgspec

from edgeinf.mock.script import Shape
from edgeinf.mock.values import Ask, Kind, Piece, Plan

__all__ = ["Dialect", "Memory", "dump", "event", "merged", "openai_error", "round_robin", "sse_plan", "whole_plan"]

dump = msgspec.json.encode


class Memory:
    """What an origin remembers between calls; ``running`` counts the calls in flight."""

    def __init__(self, running: Callable[[], int] = int) -> None:
        self.models: tuple[str, ...] = ()
        self.running = running
        self.batches: dict[str, dict[str, Any]] = {}
        self.responses: dict[str, dict[str, Any]] = {}
        self.polls: dict[str, int] = {}
        self.files: dict[str, bytes] = {}
        self.adapters: dict[str, str] = {}


class Dialect(Protocol):
    """A module with these two functions."""

    @staticmethod
    def answer(ask: Ask, shape: Shape, memory: Memory) -> Plan:
        """Answer a request."""
        ...

    @staticmethod
    def error(status: int, message: str, kind: str, *, in_stream: bool = False, number: int = 0) -> bytes:
        """Return an error body, or the event ``number`` of a stream that reports an error."""
        ...


def whole_plan(body: Mapping[str, Any], *, tokens: int = 0, **more: Any) -> Plan:
    """Plan a whole JSON answer."""
    return Plan(pieces=(Piece(Kind.WHOLE, dump(body)),), tokens=tokens, **more)


def sse_plan(pieces: Iterable[Piece]) -> Plan:
    """Plan a stream of events."""
    return Plan(pieces=pieces, stream=True, content_type="text/event-stream; charset=utf-8")


def event(name: str, data: Mapping[str, Any]) -> bytes:
    """Render one named event."""
    return b"event: %b\ndata: %b\n\n" % (name.encode(), dump(data))


def merged(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Add vendor fields to a body."""
    return {**body, **extra} if extra else body


def openai_error(status: int, message: str, kind: str, *, in_stream: bool = False, number: int = 0) -> bytes:
    """Render an error as the OpenAI family does; inside a stream as one data event."""
    code = kind if status != 400 else None
    body = dump({"error": {"message": message, "type": kind, "param": None, "code": code}})
    return b"data: %b\n\n" % body if in_stream else body


def round_robin(lanes: list[list[Piece]]) -> Iterator[Piece]:
    """Interleave the pieces of several choices; only the first of each round carries the round's delay."""
    longest = max(map(len, lanes), default=0)
    for step in range(longest):
        joint = False
        for lane in lanes:
            if step < len(lane):
                lane[step].joint = joint
                joint = True
                yield lane[step]
