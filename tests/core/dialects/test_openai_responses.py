from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinf.core.call import Usage
from edgeinf.core.dialects import by_name
from edgeinf.core.errors import CallError
from edgeinf.core.normalize.levels import LEVELS
from tests.core.dialects.kit import call, named, reasons

API = by_name("openai-responses")
NAME = "openai-responses"
BODY: dict[str, Any] = {"model": "m", "input": "hi"}


def test_a_body_is_read() -> None:
    read = call(NAME, {**BODY, "stream": True, "safety_identifier": "s", "max_output_tokens": 9})
    assert (read.model, read.stream, read.user, read.max_output_tokens) == ("m", True, "s", 9)
    assert call(NAME, {"prompt": {"id": "p", "version": "1"}}).model == ""


@pytest.mark.parametrize(
    "body", [{"input": "hi"}, {"model": "m", "input": 5}, {"model": "m", "input": {}}, {**BODY, "stream": 1}]
)
def test_what_is_no_call_is_refused(body: dict[str, Any]) -> None:
    with pytest.raises(CallError):
        call(NAME, body)


def part(**fields: Any) -> dict[str, Any]:
    """Return a body whose user turn has one part."""
    return {"input": [{"role": "user", "content": [fields]}]}


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, []),
        ({"store": True}, []),
        ({"store": False}, []),
        ({"previous_response_id": "resp_1"}, ["previous-response"]),
        ({"previous_response_id": None}, []),
        ({"conversation": "conv_1"}, ["conversation"]),
        ({"background": True}, ["background"]),
        ({"background": False}, []),
        ({"prompt": {"id": "p"}}, ["stored-prompt"]),
        ({"prompt": {"id": "p", "version": "2"}}, []),
        (
            {
                "prompt": {
                    "id": "p",
                    "version": "2",
                    "variables": {"x": {"type": "input_image", "image_url": "https://x"}},
                }
            },
            ["url-inputs"],
        ),
        ({"tools": [{"type": "web_search"}]}, ["web-search"]),
        ({"tools": [{"type": "file_search"}, {"type": "mcp"}]}, ["file-search", "mcp"]),
        ({"tools": [{"type": "function", "name": "f"}]}, []),
        ({"input": [{"type": "additional_tools", "tools": [{"type": "mcp"}]}]}, ["mcp"]),
        ({"input": [{"type": "item_reference", "id": "rs_1"}]}, ["previous-response"]),
        ({"input": [{"id": "rs_1"}]}, ["previous-response"]),
        (part(type="input_image", image_url="https://x.io/a.png"), ["url-inputs"]),
        (part(type="input_image", image_url="data:image/png;base64,AA"), []),
        (part(type="input_file", file_url="https://x.io/a.pdf"), ["url-inputs"]),
        (part(type="input_file", file_id="file-1"), []),
        (part(type="input_text", text="https://x.io"), []),
        (
            {
                "input": [
                    {
                        "type": "computer_call_output",
                        "output": {"type": "computer_screenshot", "image_url": "https://x"},
                    }
                ]
            },
            ["url-inputs"],
        ),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": "https://x.io"}]}, []),
        (
            {
                "input": [
                    {"type": "function_call_output", "output": [{"type": "input_image", "image_url": "https://x"}]}
                ]
            },
            ["url-inputs"],
        ),
    ],
)
def test_state_at_the_origin_and_live_data_bypass(more: dict[str, Any], wanted: list[str]) -> None:
    assert reasons(NAME, {**BODY, **more}) == wanted


def test_an_absent_store_is_a_stored_one_and_stored_ones_are_pinned() -> None:
    stores = [{}, {"store": True}, {"store": None}, {"store": False}]
    assert [API.pinned(call(NAME, {**BODY, **store})) for store in stores] == [True, True, True, False]
    keyed = [json.dumps(API.keyed(call(NAME, {**BODY, **store}), LEVELS["masked"])) for store in stores]
    assert keyed[0] != keyed[3]
    assert keyed[1] != keyed[3]
    assert not by_name("openai-chat").pinned(call("openai-chat", {"model": "m", "messages": []}))


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b'{"id":"resp_1"}', "resp_1"),
        (b'{"id":"resp_1","store":true}', "resp_1"),
        (b'{"id":"resp_1","store":false}', None),
        (b"{", None),
        (b"[]", None),
    ],
)
def test_the_id_under_which_the_origin_keeps_an_answer_is_known(body: bytes, wanted: str | None) -> None:
    assert API.answer_id(body) == wanted


def test_the_text_of_messages_is_normalised_and_nothing_else() -> None:
    items = [
        {"role": "user", "content": "Hi!"},
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be  Kind."}]},
        {"role": "assistant", "content": "Hello There "},
        {"type": "function_call_output", "call_id": "C", "output": "Out  Put "},
    ]
    read = call(NAME, {**BODY, "instructions": "Be  Kind.", "input": items, "text": {"format": {"name": "F"}}})
    (keyed,) = API.keyed(read, LEVELS["loose"])
    assert keyed["instructions"] == "be kind"
    assert keyed["input"] == [
        {"role": "user", "content": "hi"},
        {"type": "message", "role": "developer", "content": "be kind"},
        *items[2:],
    ]
    assert keyed["text"] == {"format": {"name": "F"}}
    assert API.keyed(read, LEVELS["exact"])[0]["input"] == items


def response(**more: Any) -> dict[str, Any]:
    """Return a whole response that echoes its first caller."""
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "model": "m-1",
        "metadata": {"who": "first"},
        "user": "first",
        "safety_identifier": None,
        "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []}],
        **more,
    }


@pytest.mark.parametrize(
    ("own", "echoed"),
    [
        ({}, {"metadata": {}, "user": None}),
        ({"metadata": {"who": "second"}, "user": "second"}, {"metadata": {"who": "second"}, "user": "second"}),
        ({"metadata": None}, {"metadata": {}, "user": None}),
    ],
)
def test_a_replay_echoes_the_askers_own_fields(own: dict[str, Any], echoed: dict[str, Any]) -> None:
    asker = call(NAME, {**BODY, **own})
    wanted = {**response(), **echoed}
    assert json.loads(API.render_whole(asker, json.dumps(response()).encode())) == wanted
    event = named({"type": "response.completed", "sequence_number": 3, "response": response()})
    assert any(mark in event.data for mark in API.marks(asker))
    rendered = API.render_event(asker, event)
    assert rendered is not None
    assert rendered.name == event.name
    assert json.loads(rendered.data)["response"] == wanted


def test_what_needs_no_change_is_the_very_bytes() -> None:
    asker = call(NAME, {**BODY, "metadata": {"who": "first"}, "user": "first"})
    body = json.dumps(response(), indent=1).encode()
    assert API.render_whole(asker, body) is body
    delta = named({"type": "response.output_text.delta", "delta": "a", "sequence_number": 4})
    assert API.render_event(asker, delta) is delta
    padded = named({"type": "response.output_text.delta", "delta": "a", "obfuscation": "xx"})
    rendered = API.render_event(asker, padded)
    assert rendered is not None
    assert json.loads(rendered.data) == {"type": "response.output_text.delta", "delta": "a"}


@pytest.mark.parametrize(
    ("document", "unfit"),
    [
        (response(), None),
        (
            response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "incomplete: max_output_tokens",
        ),
        (response(status="incomplete"), "incomplete"),
        (response(status="queued"), "status queued"),
        (response(status="failed", error={"message": "x"}), "error in the answer"),
        (response(status=None), "no status"),
        (response(output=[]), "no output"),
        (response(error=None), None),
        ([], "no status"),
    ],
)
def test_only_a_completed_response_may_be_kept(document: Any, unfit: str | None) -> None:
    assert API.judge(call(NAME, BODY), json.dumps(document).encode()).unfit == unfit


def test_usage_is_read_with_its_details() -> None:
    usage = {
        "input_tokens": 5,
        "output_tokens": 0,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 2},
    }
    verdict = API.judge(call(NAME, BODY), json.dumps(response(usage=usage)).encode())
    assert verdict.usage == Usage(input_tokens=5, output_tokens=0, cached_tokens=0, reasoning_tokens=2)
    assert API.judge(call(NAME, BODY), b"{").unfit == "malformed answer"


def test_an_error_in_a_stream_is_flat_and_makes_the_sdk_raise() -> None:
    error = CallError("cut", status=502, code="upstream_cut")
    before = API.error_events(error, "req-1", started=False)
    data = json.loads(before.split(b"data: ")[1])
    assert before.startswith(b"event: error\n")
    assert (data["type"], data["code"], data["message"], bool(data["error"])) == ("error", "upstream_cut", "cut", True)
    after = API.error_events(error, "req-1", started=True)
    assert after.startswith(b"event: response.failed\n")
    assert after.endswith(before)
    assert json.loads(API.error_body(error, "req-1"))["error"]["code"] == "upstream_cut"
