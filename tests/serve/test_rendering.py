"""One stored answer, as each asker wants it: nothing lost, nothing that was not asked for."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.wire import sse
from edgeinf.core.wire.canonical import parse_object
from edgeinf.mock import MockOrigin
from edgeinf.serve.rendering import StreamRenderer, events_for, variant_of, whole_for
from tests.mock.http_client import ask
from tests.serve.proxying import chat, messages

PATHS = {
    "openai-chat": "/v1/chat/completions",
    "openai-completions": "/v1/completions",
    "openai-responses": "/v1/responses",
    "anthropic-messages": "/v1/messages",
}
BODIES: dict[str, dict[str, Any]] = {
    "openai-chat": chat(),
    "openai-completions": {"model": "m", "prompt": "hi"},
    "openai-responses": {"model": "m", "input": "hi", "store": False},
    "anthropic-messages": messages(),
}
ANSWER = {"tokens": 6, "reasoning": 2, "tool_calls": [{"name": "look"}], "obfuscation": False, "unicode": True}
DIALECTS = pytest.mark.parametrize("name", PATHS)


def call_of(name: str, **more: Any) -> Any:
    body = json.dumps({**BODIES[name], **more}).encode()
    return by_name(name).read(PATHS[name], "", parse_object(body))


async def origins(origin: MockOrigin, name: str, **more: Any) -> bytes:
    """Return what the origin says to a call."""
    origin.use({"fixed_ids": True, "answer": ANSWER})
    return (await ask(origin, PATHS[name], {**BODIES[name], **more})).body


def without_empty(value: Any) -> Any:
    """Return a document without fields that are empty or null: a stream does not say which of both they are."""
    if isinstance(value, dict):
        return {name: without_empty(field) for name, field in value.items() if field not in (None, "", [])}
    return [without_empty(item) for item in value] if isinstance(value, list) else value


@DIALECTS
async def test_a_stored_stream_folds_into_the_document_that_the_origin_would_have_sent(
    origin: MockOrigin, name: str
) -> None:
    usage = {"stream_options": {"include_usage": True}} if name.startswith("openai-c") else {}
    stream = await origins(origin, name, stream=True, **usage)
    whole = await origins(origin, name)
    call = call_of(name)
    assert without_empty(json.loads(whole_for(by_name(name), call, stream, stream=True))) == without_empty(
        json.loads(whole)
    )
    assert whole_for(by_name(name), call, whole, stream=False) == whole


@DIALECTS
async def test_a_stored_document_unfolds_into_a_stream_that_folds_into_it(origin: MockOrigin, name: str) -> None:
    whole = await origins(origin, name)
    usage = {"stream_options": {"include_usage": True}} if name.startswith("openai-c") else {}
    events = events_for(by_name(name), call_of(name, stream=True, **usage), whole, stream=False)
    assert all(event.endswith(b"\n\n") for event in events)
    assert json.loads(whole_for(by_name(name), call_of(name), b"".join(events), stream=True)) == json.loads(whole)


@pytest.mark.parametrize("name", ["openai-chat", "openai-completions"])
async def test_usage_is_for_those_who_ask_for_it(origin: MockOrigin, name: str) -> None:
    stored = await origins(origin, name, stream=True, stream_options={"include_usage": True})
    wants = call_of(name, stream=True, stream_options={"include_usage": True})
    does_not = call_of(name, stream=True)
    dialect = by_name(name)
    assert b"".join(events_for(dialect, wants, stored, stream=True)) == stored
    shown = b"".join(events_for(dialect, does_not, stored, stream=True))
    assert b"usage" not in shown
    assert shown.endswith(b"data: [DONE]\n\n")
    assert len(sse.decode_all(stored)) == len(sse.decode_all(shown)) + 1


@DIALECTS
@given(data=st.data())
@settings(max_examples=30, deadline=None)
async def test_a_live_stream_is_rendered_as_a_stored_one_wherever_it_is_cut_between_events(
    name: str, data: st.DataObject
) -> None:
    async with MockOrigin() as origin:
        more = {"stream_options": {"include_usage": True}} if name.startswith("openai-c") else {}
        stored = await origins(origin, name, stream=True, **more)
    for asked in ({}, more):
        call = call_of(name, stream=True, **asked)
        events = [sse.encode(event) for event in sse.decode_all(stored)]
        cuts = sorted(data.draw(st.sets(st.integers(0, len(events)), max_size=6)) | {0, len(events)})
        renderer = StreamRenderer(by_name(name), call)
        pieces = [b"".join(events[a:b]) for a, b in itertools.pairwise(cuts)]
        assert b"".join(map(renderer.feed, pieces)) == b"".join(events_for(by_name(name), call, stored, stream=True))


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"], ids=["lf", "crlf", "cr"])
def test_what_needs_no_change_passes_byte_for_byte(ends: bytes) -> None:
    dialect, call = by_name("openai-chat"), call_of("openai-chat", stream=True)
    piece = ends.join([b": a comment", b"", b'data: {"choices": [{"delta": {"content":  "spaced"}}]}', b"", b""])
    assert StreamRenderer(dialect, call).feed(piece) == piece


def test_what_is_no_answer_cannot_be_reshaped() -> None:
    dialect, call = by_name("openai-chat"), call_of("openai-chat", stream=True)
    with pytest.raises(ValueError, match=r".+"):
        events_for(dialect, call, b"no json", stream=False)


@DIALECTS
def test_askers_who_differ_in_what_no_key_holds_have_renderings_of_their_own(name: str) -> None:
    dialect = by_name(name)
    plain = variant_of(dialect, call_of(name))
    assert plain == variant_of(dialect, call_of(name))
    for field in dialect.unkeyed:
        if field in ("stream", "model"):
            continue
        try:
            other = call_of(name, **{field: {"a": "b"}})
        except CallError:  # not every field takes an object
            continue
        assert variant_of(dialect, other) != plain, field
