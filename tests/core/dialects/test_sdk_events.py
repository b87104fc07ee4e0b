"""Streams that were made from whole answers are what the SDKs' types say a stream is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from anthropic.types import Message, RawMessageStreamEvent
from openai.types import CreateEmbeddingResponse
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from edgeinf.core.dialects import by_name
from tests.core.dialects.kit import call

_USAGE = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
_CHAT: dict[str, Any] = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "usage": _USAGE,
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "logprobs": {
                "content": [{"token": "a", "logprob": -0.1, "bytes": [97], "top_logprobs": []}],
                "refusal": None,
            },
            "message": {
                "role": "assistant",
                "content": "a",
                "refusal": None,
                "reasoning_content": "hm",
                "tool_calls": [{"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
            },
        },
        {
            "index": 1,
            "finish_reason": "stop",
            "logprobs": None,
            "message": {"role": "assistant", "content": "b", "refusal": None},
        },
    ],
}
_MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 2},
    "content": [
        {"type": "thinking", "thinking": "hm", "signature": "EqQB"},
        {"type": "text", "text": "a", "citations": None},
        {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        {"type": "redacted_thinking", "data": "xx"},
    ],
}
_RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "model": "m",
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": 1.0,
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {
                    "type": "output_text",
                    "text": "a",
                    "logprobs": [],
                    "annotations": [
                        {"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}
                    ],
                },
                {"type": "refusal", "refusal": "no"},
            ],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "f", "arguments": "{}", "status": "completed"},
        {"type": "custom_tool_call", "id": "ct_1", "call_id": "c", "name": "f", "input": "x"},
    ],
    "usage": {
        "input_tokens": 1,
        "output_tokens": 2,
        "total_tokens": 3,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    },
}


@pytest.mark.parametrize(
    ("name", "whole", "kind", "event_kind"),
    [
        ("openai-chat", _CHAT, ChatCompletion, ChatCompletionChunk),
        ("anthropic-messages", _MESSAGE, Message, RawMessageStreamEvent),
        ("openai-responses", _RESPONSE, Response, ResponseStreamEvent),
    ],
)
def test_every_event_is_one_that_the_sdk_knows(name: str, whole: Any, kind: Any, event_kind: Any) -> None:
    dialect = by_name(name)
    events = dialect.unfold(json.dumps(whole).encode())
    reader = TypeAdapter(event_kind)
    for event in events:
        if not event.is_done:
            reader.validate_python(json.loads(event.data), strict=False)
    folded = dialect.fold(events)
    assert json.loads(folded) == whole
    TypeAdapter(kind).validate_json(folded)


def test_joined_embeddings_are_what_the_sdk_reads() -> None:
    dialect, asked = by_name("openai-embeddings"), call("openai-embeddings", {"model": "m", "input": ["a", "b"]})
    data = [{"object": "embedding", "index": i, "embedding": [0.5, 0.25]} for i in range(2)]
    usage = {"prompt_tokens": 2, "total_tokens": 2}
    whole = json.dumps({"object": "list", "data": data, "model": "m", "usage": usage}).encode()
    read = CreateEmbeddingResponse.model_validate_json(dialect.join_answers(asked, dialect.split_answer(asked, whole)))
    assert [item.index for item in read.data] == [0, 1]
    assert read.usage.prompt_tokens == 2
