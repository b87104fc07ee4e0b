from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from edgeinf.core.dialects import by_name, for_path
from edgeinf.core.errors import CallError
from tests.core.dialects.kit import CHAT, call, reasons

API = by_name("openai-chat")


def test_a_body_is_read() -> None:
    read = call("openai-chat", {**CHAT, "n": 2, "stream": True, "user": "u", "max_tokens": 7})
    assert (read.model, read.choices, read.stream, read.user, read.max_output_tokens) == ("m", 2, True, "u", 7)
    assert for_path("/v1/chat/completions") is API


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": []}, "model"),
        ({"model": 1, "messages": []}, "model"),
        ({"model": "m"}, "messages"),
        ({"model": "m", "messages": {}}, "messages"),
        ({"model": "m", "messages": ["hi"]}, "messages"),
        ({"model": "m", "messages": [{"content": "hi"}]}, "messages"),
        ({**CHAT, "n": 0}, "n"),
        ({**CHAT, "n": True}, "n"),
        ({**CHAT, "n": "2"}, "n"),
        ({**CHAT, "stream": "yes"}, "stream"),
    ],
)
def test_what_is_no_call_is_refused_by_field(body: dict[str, Any], param: str) -> None:
    with pytest.raises(CallError) as caught:
        call("openai-chat", body)
    assert (caught.value.status, caught.value.param) == (400, param)


def image(url: str) -> dict[str, Any]:
    """Return messages with an image."""
    return {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]}


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, []),
        ({"store": True}, ["store"]),
        ({"store": False}, []),
        ({"web_search_options": {}}, ["web-search"]),
        ({"model": "x:online"}, ["web-search"]),
        ({"model": "gpt-4o-search-preview"}, ["web-search"]),
        ({"search_parameters": {"mode": "on"}}, ["search-parameters"]),
        ({"plugins": [{"id": "web"}]}, ["plugins"]),
        ({"tools": [{"type": "function", "function": {"name": "f"}}]}, []),
        ({"tools": [{"type": "browser_search"}]}, ["web-search"]),
        ({"tools": [{"type": "openrouter:web_search"}]}, ["web-search"]),
        ({"tools": [{"type": "builtin_function", "function": {"name": "$web_search"}}]}, ["hosted-tool"]),
        ({"tools": [{"type": "brand_new"}]}, ["hosted-tool"]),
        (image("https://x.io/a.png"), ["url-inputs"]),
        (image("HTTP://x.io/a.png"), ["url-inputs"]),
        (image("data:image/png;base64,AAAA"), []),
        (
            {"messages": [{"role": "user", "content": [{"type": "video_url", "video_url": "https://x.io/v"}]}]},
            ["url-inputs"],
        ),
        (
            {
                "messages": [
                    {"role": "tool", "tool_call_id": "1", "content": image("http://x")["messages"][0]["content"]}
                ]
            },
            ["url-inputs"],
        ),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": "https://x.io"}]}]}, []),
        (
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}],
                    }
                ]
            },
            [],
        ),
    ],
)
def test_live_data_and_side_effects_bypass(more: dict[str, Any], wanted: list[str]) -> None:
    assert reasons("openai-chat", {**CHAT, **more}) == wanted


@pytest.mark.parametrize(
    ("options", "sent"),
    [
        (None, {"include_usage": True}),
        ({"include_usage": False}, {"include_usage": True}),
        ({"include_obfuscation": False}, {"include_obfuscation": False, "include_usage": True}),
    ],
)
def test_a_stream_is_asked_for_with_usage(options: dict[str, Any] | None, sent: dict[str, Any]) -> None:
    body = {**CHAT, "stream": True, **({} if options is None else {"stream_options": options})}
    upstream = API.upstream_body(call("openai-chat", body))
    assert upstream is not None
    assert upstream["stream_options"] == sent
    assert body.get("stream_options") == options


def test_a_body_that_asks_for_usage_or_no_stream_goes_as_it_is() -> None:
    assert API.upstream_body(call("openai-chat", CHAT)) is None
    asked = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
    assert API.upstream_body(call("openai-chat", asked)) is None


def test_an_image_is_in_the_key_byte_for_byte() -> None:
    a, b = (call("openai-chat", {**CHAT, **image(f"data:image/png;base64,AAA{end}")}) for end in "AB")
    from edgeinf.core.normalize.levels import LEVELS

    for level in LEVELS.values():
        assert API.keyed(a, level) != API.keyed(b, level)


def test_errors_have_the_form_that_the_sdk_reads() -> None:
    error = CallError("too much", status=429, code="limit", hint="wait")
    body = msgspec.json.decode(API.error_body(error, "req-1"))
    assert body["error"] == {
        "message": "too much (wait)",
        "type": "rate_limit_error",
        "param": None,
        "code": "limit",
        "request_id": "req-1",
    }
    raw = API.error_events(error, "req-1", started=True)
    assert raw.startswith(b"data: {")
    assert b"[DONE]" not in raw
    assert json.loads(raw.removeprefix(b"data: "))["error"]["code"] == "limit"
