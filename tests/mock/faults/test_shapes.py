"""Faults of what is said."""

from __future__ import annotations

from typing import Any

import pytest

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask, chat, messages


async def stream(origin: MockOrigin, fault: str, **more: Any) -> list[Any]:
    origin.use({"fault": fault, "answer": {"tokens": 4}})
    return (await ask(origin, "/v1/chat/completions", chat(stream=True, **more))).data


async def test_empty_choices_are_empty_in_both_shapes(origin: MockOrigin) -> None:
    data = await stream(origin, "empty-choices")
    whole = await ask(origin, "/v1/chat/completions", chat())

    assert whole.json["choices"] == []
    assert [chunk["choices"] for chunk in data[:-1]] == [[]]


async def test_the_end_marker_can_be_missing_after_a_finish(origin: MockOrigin) -> None:
    data = await stream(origin, "no-done")

    assert data[-1]["choices"][0]["finish_reason"] == "stop"


async def test_the_finish_can_be_missing_before_the_end_marker(origin: MockOrigin) -> None:
    data = await stream(origin, "no-finish")

    assert data[-1] == "[DONE]"
    assert all(chunk["choices"][0]["finish_reason"] is None for chunk in data[:-1])


async def test_only_the_first_of_two_choices_can_finish(origin: MockOrigin) -> None:
    data = await stream(origin, "finish-first-only", n=2)

    finished = [chunk["choices"][0]["index"] for chunk in data[:-1] if chunk["choices"][0]["finish_reason"]]
    assert finished == [0]
    assert {chunk["choices"][0]["index"] for chunk in data[:-1]} == {0, 1}


@pytest.mark.parametrize(("reason", "stop"), [("content_filter", "refusal"), ("pause_turn", "pause_turn")])
async def test_the_reason_can_be_given_and_is_translated(origin: MockOrigin, reason: str, stop: str) -> None:
    data = await stream(origin, f"finish;reason={reason}")
    message = await ask(origin, "/v1/messages", messages())

    assert data[-2]["choices"][0]["finish_reason"] == reason
    assert message.json["stop_reason"] == stop


@pytest.mark.parametrize(
    ("mode", "with_usage"), [("none", 0), ("last-choice", 1), ("every", 5)], ids=["none", "last", "every"]
)
async def test_usage_can_be_missing_late_or_everywhere(origin: MockOrigin, mode: str, with_usage: int) -> None:
    data = await stream(origin, f"usage;mode={mode}", stream_options={"include_usage": True})

    usages = [chunk["usage"] for chunk in data[:-1] if chunk.get("usage")]
    assert len(usages) == with_usage
    assert all(usage["completion_tokens"] == 4 for usage in usages[-1:])


async def test_hidden_reasoning_is_counted_and_then_comes_one_fat_chunk(origin: MockOrigin) -> None:
    data = await stream(origin, "hidden-reasoning;tokens=50;fat=3", stream_options={"include_usage": True})

    contents = [c["choices"][0]["delta"].get("content") for c in data[:-1] if c["choices"]]
    words = [content.count(" ") for content in contents if content]
    assert words == [2, 1]
    assert data[-2]["usage"]["completion_tokens"] == 54
    assert data[-2]["usage"]["completion_tokens_details"]["reasoning_tokens"] == 50


async def test_a_fat_first_piece_and_no_role(origin: MockOrigin) -> None:
    origin.use({"fault": ["fat;tokens=3", "no-role"], "answer": {"tokens": 4}})

    data = (await ask(origin, "/v1/chat/completions", chat(stream=True))).data

    assert [len(c["choices"][0]["delta"].get("content", "").split()) for c in data[:-1]] == [3, 1, 0]
    assert all("role" not in chunk["choices"][0]["delta"] for chunk in data[:-1])
