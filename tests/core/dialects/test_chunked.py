"""What chat and completions share is the same for both."""

from __future__ import annotations

import json

import pytest

from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.wire.sse import Event
from tests.core.dialects.kit import CHAT, call

BODIES = {
    "openai-chat": {**CHAT, "stream": True},
    "openai-completions": {"model": "m", "prompt": "hi", "stream": True},
}


@pytest.mark.parametrize("name", BODIES)
def test_usage_is_asked_for_and_kept_from_those_who_did_not_ask(name: str) -> None:
    dialect, asked = by_name(name), call(name, BODIES[name])
    upstream = dialect.upstream_body(asked)
    assert upstream is not None
    assert upstream["stream_options"] == {"include_usage": True}
    chunk = json.dumps({"choices": [], "usage": {"prompt_tokens": 1}}).encode()
    assert any(mark in chunk for mark in dialect.marks(asked))
    assert dialect.render_event(asked, Event(b"", chunk)) is None


@pytest.mark.parametrize("name", BODIES)
def test_a_stream_is_complete_when_its_choice_finished_and_its_end_came(name: str) -> None:
    watcher = by_name(name).watch(call(name, BODIES[name]))
    watcher.feed(Event(b"", b'{"choices":[{"index":0,"delta":{},"text":"","finish_reason":"stop"}]}'))
    assert watcher.verdict().unfit == "stream cut: no end marker"
    watcher.feed(Event(b"", b"[DONE]"))
    assert watcher.verdict().unfit is None


@pytest.mark.parametrize("name", BODIES)
def test_errors_are_openais(name: str) -> None:
    error = CallError("no", status=429, code="limit")
    body = json.loads(by_name(name).error_body(error, "req-1"))
    assert (body["error"]["type"], body["error"]["code"]) == ("rate_limit_error", "limit")
    assert by_name(name).error_events(error, "req-1", started=True).startswith(b"data: {")
