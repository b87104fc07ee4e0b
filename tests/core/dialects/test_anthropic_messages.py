from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeinf.core.call import Usage
from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.normalize.levels import LEVELS
from tests.core.dialects.kit import ANTHROPIC, call, reasons

API = by_name("anthropic-messages")
_MARK = {"type": "ephemeral"}


def test_a_body_is_read() -> None:
    read = call("anthropic-messages", {**ANTHROPIC, "stream": True, "metadata": {"user_id": "u"}})
    assert (read.model, read.stream, read.user, read.max_output_tokens, read.choices) == ("m", True, "u", 5, 1)


def turn(*blocks: Any) -> dict[str, Any]:
    """Return a body whose user turn has these blocks."""
    return {**ANTHROPIC, "messages": [{"role": "user", "content": list(blocks)}]}


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, []),
        ({"container": "c1"}, ["container"]),
        ({"mcp_servers": [{"url": "https://x"}]}, ["mcp"]),
        ({"thread": {"type": "create"}}, ["conversation"]),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, ["web-search"]),
        ({"tools": [{"name": "f", "input_schema": {}}]}, []),
        (turn({"type": "image", "source": {"type": "url", "url": "https://x"}}), ["url-inputs"]),
        (turn({"type": "image", "source": {"type": "base64", "data": "AA"}}), []),
        (turn({"type": "document", "source": {"type": "url", "url": "https://x"}}), ["url-inputs"]),
        (turn({"type": "document", "source": {"type": "file", "file_id": "f"}}), []),
        (turn({"type": "tool_result", "content": [{"type": "image", "source": {"type": "url"}}]}), ["url-inputs"]),
        (
            turn({"type": "document", "source": {"type": "content", "content": [{"source": {"type": "url"}}]}}),
            ["url-inputs"],
        ),
        (turn({"type": "container_upload", "file_id": "f"}), ["container"]),
        (turn({"type": "tool_addition", "tool": {"type": "x", "definition": {"type": "web_fetch_1"}}}), ["web-fetch"]),
    ],
)
def test_live_data_and_state_at_the_origin_bypass(more: dict[str, Any], wanted: list[str]) -> None:
    assert reasons("anthropic-messages", {**ANTHROPIC, **more}) == wanted


_blocks = st.recursive(
    st.fixed_dictionaries(
        {"type": st.just("text"), "text": st.text(max_size=4)}, optional={"cache_control": st.just(_MARK)}
    ),
    lambda inner: (
        st.fixed_dictionaries(
            {"type": st.just("tool_result"), "content": st.lists(inner, max_size=2)},
            optional={"cache_control": st.just(_MARK)},
        )
        | st.fixed_dictionaries(
            {"type": st.just("document"), "source": st.fixed_dictionaries({"content": st.lists(inner, max_size=2)})},
            optional={"cache_control": st.just(_MARK)},
        )
    ),
    max_leaves=5,
)


@pytest.mark.parametrize("level", list(LEVELS.values()), ids=list(LEVELS))
@given(blocks=st.lists(_blocks, min_size=1, max_size=3))
def test_marks_of_the_prompt_cache_are_out_of_the_key_at_every_depth(level: Any, blocks: list[Any]) -> None:
    body = {**turn(*blocks), "system": blocks, "tools": [{"name": "f", "cache_control": _MARK}], "cache_control": _MARK}
    (keyed,) = API.keyed(call("anthropic-messages", body), level)
    assert "cache_control" not in json.dumps(keyed)


def test_a_field_of_that_name_inside_a_tools_input_is_the_users_own() -> None:
    use = {"type": "tool_use", "id": "t", "name": "f", "input": {"cache_control": 1}}
    body = {**ANTHROPIC, "messages": [{"role": "assistant", "content": [use]}]}
    (keyed,) = API.keyed(call("anthropic-messages", body), LEVELS["safe"])
    assert keyed["messages"][0]["content"] == [use]


def answer(**more: Any) -> bytes:
    """Return a whole answer."""
    return json.dumps(
        {"type": "message", "content": [{"type": "text", "text": "a"}], "stop_reason": "end_turn", **more}
    ).encode()


@pytest.mark.parametrize(
    ("body", "unfit"),
    [
        (answer(), None),
        (answer(stop_reason="max_tokens"), None),
        (answer(stop_reason="refusal"), None),
        (answer(content=[]), None),
        (answer(stop_reason="pause_turn"), "paused turn"),
        (answer(stop_reason=None), "no stop reason"),
        (answer(content=None), "no content"),
        (b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "error in the answer"),
        (b"[]", "no content"),
        (b"{", "malformed answer"),
    ],
)
def test_only_a_whole_good_answer_may_be_kept(body: bytes, unfit: str | None) -> None:
    assert API.judge(call("anthropic-messages", ANTHROPIC), body).unfit == unfit


def test_input_includes_what_the_origin_counts_apart() -> None:
    usage = {"input_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 4, "output_tokens": 0}
    verdict = API.judge(call("anthropic-messages", ANTHROPIC), answer(usage=usage, model="m-1"))
    assert verdict.usage == Usage(input_tokens=9, output_tokens=0, cached_tokens=3, cache_write_tokens=4)
    assert verdict.model == "m-1"


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, "invalid_request_error"),
        (403, "permission_error"),
        (429, "rate_limit_error"),
        (502, "api_error"),
        (503, "overloaded_error"),
        (418, "invalid_request_error"),
    ],
)
def test_errors_have_the_form_that_the_sdk_reads(status: int, kind: str) -> None:
    error = CallError("no", status=status)
    body = json.loads(API.error_body(error, "req-1"))
    assert (body["type"], body["error"]["type"], body["request_id"]) == ("error", kind, "req-1")
    assert API.error_events(error, "req-1", started=True).startswith(b"event: error\ndata: {")
