"""Faults that answer something else."""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime
from typing import Any

import pytest

from edgeinf.mock import Kind, MockOrigin
from tests.mock.http_client import Reply, ask, chat, messages


async def got(origin: MockOrigin, fault: str, path: str = "/v1/chat/completions", **more: Any) -> Reply:
    origin.use({"fault": fault, "answer": {"tokens": 4}})
    body = messages(**more) if path.endswith("/messages") else {**chat(**more), "input": "hi"}
    return await ask(origin, path, body)


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500, 503, 529])
async def test_an_error_status_has_the_body_of_its_dialect(origin: MockOrigin, status: int) -> None:
    openai = await got(origin, str(status), stream=True)
    anthropic = await got(origin, str(status), "/v1/messages")

    assert openai.status == anthropic.status == status
    assert openai.headers["content-type"] == "application/json"
    assert openai.json["error"]["message"]
    assert anthropic.json["type"] == "error"


@pytest.mark.parametrize(
    ("argument", "header", "value"),
    [
        ("retry_after=2s", "retry-after", "2"),
        ("retry_after=7", "retry-after", "7"),
        ("retry_after_ms=20", "retry-after-ms", "20"),
    ],
    ids=["seconds", "bare", "milliseconds"],
)
async def test_retry_after_has_several_forms(origin: MockOrigin, argument: str, header: str, value: str) -> None:
    reply = await got(origin, f"429;{argument}")

    assert reply.headers[header] == value


async def test_retry_after_can_be_a_date(origin: MockOrigin) -> None:
    reply = await got(origin, "429;retry_after_date=60s")

    wait = parsedate_to_datetime(reply.headers["retry-after"]) - parsedate_to_datetime(reply.headers["date"])
    assert 58 <= wait.total_seconds() <= 62


async def test_a_status_can_carry_a_given_body(origin: MockOrigin) -> None:
    assert (await got(origin, "500;body=oops")).body == b"oops"


@pytest.mark.parametrize(
    ("path", "first"),
    [
        ("/v1/chat/completions", "data: {"),
        ("/v1/messages", "event: error\ndata: {"),
        ("/v1/responses", "event: error\ndata: {"),
    ],
)
async def test_an_error_can_hide_in_a_200_of_every_dialect(origin: MockOrigin, path: str, first: str) -> None:
    stream = await got(origin, "soft-error", path, stream=True)
    whole = await got(origin, "soft-error", path)

    assert stream.status == whole.status == 200
    assert len(stream.events) == 1
    assert stream.events[0].startswith(first)
    assert "Overloaded" in stream.events[0]
    assert whole.json["error"]["message"] == "Overloaded"


async def test_an_error_can_come_after_some_tokens_and_the_rest_may_follow(origin: MockOrigin) -> None:
    ends = await got(origin, "soft-error;tokens=2", stream=True)
    goes_on = await got(origin, "soft-error;tokens=2;ends=false", stream=True)

    assert ["error" in chunk for chunk in ends.data] == [False, False, False, True]
    assert ["error" in chunk for chunk in goes_on.data] == [False, False, False, True, False, False, False, False]
    assert origin.calls[0].event_kinds[-1] is Kind.ERROR


async def test_an_error_event_continues_the_numbers_of_a_responses_stream(origin: MockOrigin) -> None:
    reply = await got(origin, "soft-error;after=3", "/v1/responses", stream=True)

    assert [event["sequence_number"] for event in reply.data] == [0, 1, 2, 3]


async def test_a_malformed_event_stands_among_good_ones(origin: MockOrigin) -> None:
    reply = await got(origin, "malformed;after=2", stream=True)

    broken = []
    for event in reply.events:
        try:
            json.loads(event.removeprefix("data: ").removesuffix("[DONE]") or "{}")
            broken.append(False)
        except json.JSONDecodeError:
            broken.append(True)
    assert broken == [False, False, True, False, False, False, False, False]


async def test_a_malformed_whole_body_is_only_the_half_of_it(origin: MockOrigin) -> None:
    reply = await got(origin, "malformed")

    assert reply.complete
    with pytest.raises(json.JSONDecodeError):
        _ = reply.json


@pytest.mark.parametrize(
    ("to", "location"),
    [
        ("http://127.0.0.1:9", "http://127.0.0.1:9/v1/chat/completions"),
        ("http://127.0.0.1:9/sink", "http://127.0.0.1:9/sink"),
    ],
    ids=["origin", "path"],
)
async def test_a_redirect_names_its_target(origin: MockOrigin, to: str, location: str) -> None:
    reply = await got(origin, f"redirect;to={to}")

    assert (reply.status, reply.headers["location"]) == (307, location)


async def test_a_gateway_page_is_html_and_garbage_is_no_http(origin: MockOrigin) -> None:
    assert (await got(origin, "html")).headers["content-type"] == "text/html"
    assert (await got(origin, "garbage")).error == "NotHttp"
