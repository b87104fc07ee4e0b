"""What a request refers to that only one account holds, and what an answer hands out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinf.core.dialects.origin_state import issued, referred


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ({"previous_response_id": "resp_1"}, {"resp_1"}),
        ({"conversation": "conv_1"}, {"conv_1"}),
        ({"conversation": {"id": "conv_1"}}, {"conv_1"}),
        ({"container": "cntr_1"}, {"cntr_1"}),
        ({"container": {"id": "cntr_1", "skills": []}}, {"cntr_1"}),
        ({"input": [{"type": "reasoning", "id": "rs_1", "encrypted_content": "gAAA"}]}, {"rs_1", "gAAA"}),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, {"msg_1"}),
        ({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]}]}, {"file-1"}),
        ({"tools": [{"type": "file_search", "vector_store_ids": ["vs_1", "vs_2"]}]}, {"vs_1", "vs_2"}),
        ({"tools": [{"type": "code_interpreter", "container": {"type": "auto", "file_ids": ["file-1"]}}]}, set()),
        ({"messages": [{"role": "user", "content": "my previous_response_id is resp_1"}]}, set()),
        ({"messages": [{"role": "user", "content": "hi"}]}, set()),
        ({"messages": [{"content": [{"type": "tool_use", "input": {"file_id": "mine"}}]}]}, set()),
        ({"metadata": {"container": "mine"}}, set()),
        ({"input": [{"type": ["x"], "id": "rs_1", "encrypted_content": {"id": ["y"]}}]}, set()),
        ({"messages": [{"role": "assistant", "audio": {"id": "audio_1"}}]}, {"audio_1"}),
        ({"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}}, set()),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else None,
)
def test_what_a_request_refers_to(body: dict[str, Any], names: set[str]):
    assert referred(json.dumps(body).encode(), body) == names


RESPONSE = {"id": "resp_1", "output": [{"id": "rs_1", "encrypted_content": "g\\/A=="}, {"id": "msg_1"}]}


@pytest.mark.parametrize("stream", [False, True], ids=["document", "events"])
def test_what_an_answer_hands_out(stream: bool):
    raw = json.dumps(RESPONSE).encode()
    answer = b"event: response.completed\ndata: %b\n\n" % raw if stream else raw
    assert issued(answer, every_id=True) == {"resp_1", "rs_1", "msg_1", "g\\/A=="}
    assert issued(answer, every_id=False) == {"g\\/A=="}


def test_a_container_is_named_whatever_the_dialect():
    answer = json.dumps({"id": "msg_1", "container": {"id": "cntr_1", "expires_at": "x"}}).encode()
    assert issued(answer, every_id=False) == {"cntr_1"}


def test_a_spoken_answer_is_named_in_a_stream_as_in_a_document():
    audio = {"audio": {"id": "audio_1", "transcript": "hi"}}
    for choice in ({"message": audio}, {"delta": audio}):
        answer = json.dumps({"id": "chatcmpl-1", "choices": [choice]}).encode()
        assert issued(answer, every_id=False) == {"audio_1"}


def test_what_is_referred_to_is_what_was_issued_whatever_the_escapes():
    answer = b'{"id":"resp_1","output":[{"encrypted_content":"a\\/b\\u003d"}]}'
    body = {"input": [{"type": "reasoning", "encrypted_content": "a/b="}]}
    assert referred(json.dumps(body).encode(), body) <= issued(answer, every_id=True)
