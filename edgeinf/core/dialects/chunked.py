"""What the two APIs whose streams are chunks of choices share: usage, watching, judging, rendering, errors."""

from __future__ import annotations

from edgeinf.core.call import Call
from edgeinf.core.dialects import chat_rendering, openai_common
from edgeinf.core.dialects.base import Defaults, Verdict
from edgeinf.core.dialects.chat_watching import ChatWatcher
from edgeinf.core.errors import CallError
from edgeinf.core.wire.canonical import JsonObject
from edgeinf.core.wire.sse import Event

__all__ = ["Chunked"]


class Chunked(Defaults):
    """A dialect whose stream is chunks with choices and ends in ``[DONE]``."""

    def upstream_body(self, call: Call) -> JsonObject | None:
        return chat_rendering.with_usage(call)

    def watch(self, call: Call) -> ChatWatcher:
        return ChatWatcher(call.choices)

    def judge(self, call: Call, body: bytes) -> Verdict:
        return chat_rendering.judge_choices(call, body)

    def trim(self, call: Call, piece: bytes) -> bytes:
        return chat_rendering.trim_chunks(call, piece)

    def marks(self, call: Call) -> tuple[bytes, ...]:
        return chat_rendering.marks(call)

    def render_event(self, call: Call, event: Event) -> Event | None:
        return chat_rendering.render_chunk(call, event)

    def error_body(self, error: CallError, request_id: str) -> bytes:
        return openai_common.error_body(error, request_id)

    def error_events(self, error: CallError, request_id: str, *, started: bool) -> bytes:
        return openai_common.error_events(error, request_id)
