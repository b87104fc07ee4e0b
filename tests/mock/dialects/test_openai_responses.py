"""Responses: order, numbers, and what is stored."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from edgeinf.mock import MockOrigin
from tests.mock.http_client import ask

PATH = "/v1/responses"


def request(**more: Any) -> dict[str, Any]:
    return {"model": "m", "input": "hi", **more}


async def test_events_come_in_their_order_with_numbers_without_holes(origin: MockOrigin) -> None:
    origin.use({"answer": {"tokens": 2}})
    reply = await ask(origin, PATH, request(stream=True))

    assert [event["type"].removeprefix("response.") for event in reply.data] == [
        *("created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"),
        *("output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed"),
    ]
    assert [event["sequence_number"] for event in reply.data] == list(range(10))
    assert b"[DONE]" not in reply.body


@pytest.mark.parametrize(
    "answer",
    [
        {"tokens": 4},
        {"reasoning": 2, "tokens": 3},
        {"tool_calls": 2},
        {"refusal": "I cannot"},
        {"annotations": [{"type": "url_citation", "url": "u", "title": "t", "start_index": 0, "end_index": 1}]},
    ],
    ids=["text", "reasoning", "tools", "refusal", "annotations"],
)
async def test_the_last_event_carries_the_whole_answer(origin: MockOrigin, answer: dict[str, Any]) -> None:
    origin.use({"answer": answer, "fixed_ids": True})
    whole = (await ask(origin, PATH, request())).json
    data = (await ask(origin, PATH, request(stream=True))).data

    assert data[-1]["response"] == whole
    assert [e["item"] for e in data if e["type"] == "response.output_item.done"] == whole["output"]
    deltas = "".join(e["delta"] for e in data if e["type"].endswith(".delta"))
    done = "".join(str(e.get("text", e.get("refusal", e.get("arguments")))) for e in data if e["type"] in DONE)
    assert deltas == done


DONE = (
    "response.output_text.done",
    "response.refusal.done",
    "response.reasoning_summary_text.done",
    "response.function_call_arguments.done",
)


async def test_the_sdk_reads_both_shapes(origin: MockOrigin) -> None:
    origin.use({"answer": {"reasoning": 2, "tokens": 3}})
    async with openai.AsyncOpenAI(base_url=f"{origin.url}/v1", api_key="k", max_retries=0) as client:
        whole = await client.responses.create(model="m", input="hi")
        async with client.responses.stream(model="m", input="hi") as stream:
            folded = await stream.get_final_response()

    assert folded.output_text == whole.output_text != ""


@pytest.mark.parametrize(
    ("more", "answer", "status", "reason"),
    [
        ({"max_output_tokens": 2}, {}, "incomplete", "max_output_tokens"),
        ({}, {"finish": "content_filter"}, "incomplete", "content_filter"),
        ({}, {"finish": "failed"}, "failed", None),
    ],
    ids=["length", "filter", "failed"],
)
async def test_what_did_not_complete_says_so_in_both_shapes(
    origin: MockOrigin, more: dict[str, Any], answer: dict[str, Any], status: str, reason: str | None
) -> None:
    origin.use({"answer": answer})
    whole = (await ask(origin, PATH, request(**more))).json
    data = (await ask(origin, PATH, request(stream=True, **more))).data

    assert (whole["status"], (whole["incomplete_details"] or {}).get("reason")) == (status, reason)
    assert data[-1]["type"] == f"response.{status}"
    assert [event["sequence_number"] for event in data] == list(range(len(data)))


async def test_a_response_is_stored_unless_asked_not_to(origin: MockOrigin) -> None:
    kept = (await ask(origin, PATH, request())).json
    dropped = (await ask(origin, PATH, request(store=False))).json

    assert (await ask(origin, f"{PATH}/{kept['id']}")).json == kept
    assert (await ask(origin, f"{PATH}/{dropped['id']}")).status == 404
    assert (await ask(origin, f"{PATH}/{kept['id']}/input_items")).json["object"] == "list"
    assert (await ask(origin, f"{PATH}/{kept['id']}", method="DELETE")).json["deleted"] is True
    assert (await ask(origin, f"{PATH}/{kept['id']}")).status == 404


async def test_a_background_response_completes_after_some_polls(origin: MockOrigin) -> None:
    origin.use({"answer": {"polls": 2}})
    begun = (await ask(origin, PATH, request(background=True))).json

    polled = [(await ask(origin, f"{PATH}/{begun['id']}")).json["status"] for _ in range(3)]

    assert begun["status"] == "queued"
    assert polled == ["in_progress", "in_progress", "completed"]


async def test_a_background_response_can_be_cancelled(origin: MockOrigin) -> None:
    begun = (await ask(origin, PATH, request(background=True))).json
    await ask(origin, f"{PATH}/{begun['id']}/cancel", b"")

    assert (await ask(origin, f"{PATH}/{begun['id']}")).json["status"] == "cancelled"


async def test_fields_of_the_request_are_echoed(origin: MockOrigin) -> None:
    given = {"instructions": "be brief", "metadata": {"a": "b"}, "user": "u", "temperature": 0.1}
    whole = (await ask(origin, PATH, request(**given))).json

    assert {name: whole[name] for name in given} == given


async def test_stored_answers_outlive_a_change_of_script(origin: MockOrigin) -> None:
    kept = (await ask(origin, PATH, request())).json
    origin.use({"ttft": "1ms"})

    assert (await ask(origin, f"{PATH}/{kept['id']}")).json == kept


async def test_an_end_can_be_missing(origin: MockOrigin) -> None:
    origin.use({"fault": "no-done"})
    data = (await ask(origin, PATH, request(stream=True))).data

    assert data[-1]["type"] == "response.output_item.done"
