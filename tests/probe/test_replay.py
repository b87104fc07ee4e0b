"""A log against a real server on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from edgeinf.core.errors import RemoteError, UsageError
from edgeinf.mock import ThreadedOrigin
from edgeinf.probe.replay import ReplayRequest, credential, document, replay

CHAT = "/v1/chat/completions"


@pytest.fixture
def origin() -> Iterator[ThreadedOrigin]:
    with ThreadedOrigin({"answer": {"tokens": 3}}) as origin:
        yield origin


def _request(number: int, **fields: object) -> ReplayRequest:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": f"q {number}"}], **fields}
    return ReplayRequest(path=CHAT, body=json.dumps(body).encode(), at=float(number), scope=f"s{number % 2}")


async def test_bodies_arrive_byte_for_byte_and_in_order(origin: ThreadedOrigin) -> None:
    requests = [_request(n) for n in range(8)]
    outcome = await replay(requests, origin.url + "/v1/")
    assert [call.body for call in origin.calls] == [request.body for request in requests]
    assert (outcome.requests, len(outcome.latencies_ms), dict(outcome.errors)) == (8, 8, {})


async def test_each_scope_has_one_invented_credential(origin: ThreadedOrigin) -> None:
    await replay([_request(n) for n in range(4)], origin.url)
    sent = [call.headers["authorization"] for call in origin.calls]
    assert sent == [f"Bearer {credential(scope)}" for scope in ("s0", "s1", "s0", "s1")]


async def test_messages_carry_the_key_as_that_api_wants_it(origin: ThreadedOrigin) -> None:
    body = json.loads(_request(0).body)
    await replay([ReplayRequest(path="/v1/messages", body=json.dumps(body).encode(), scope="x")], origin.url)
    headers = origin.calls[0].headers
    assert (headers["x-api-key"], "anthropic-version" in headers) == (credential("x"), True)


async def test_streams_are_read_to_their_end(origin: ThreadedOrigin) -> None:
    outcome = await replay([_request(n, stream=True) for n in range(3)], origin.url)
    assert (len(outcome.latencies_ms), {call.outcome for call in origin.calls}) == (3, {"done"})


async def test_the_pace_is_the_log_s_times_the_speed(origin: ThreadedOrigin) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    await replay([_request(n) for n in range(3)], origin.url, speed=10.0, sleep=sleep, monotonic=lambda: 0.0)
    assert waited == pytest.approx([0.1, 0.2])


async def test_refusals_and_failures_are_counted_by_kind() -> None:
    rules = [{"fault": "429"}]
    with ThreadedOrigin({"answer": {"tokens": 3}, "rules": rules}) as origin:
        outcome = await replay([_request(n) for n in range(3)], origin.url)
    assert (dict(outcome.errors), len(outcome.latencies_ms)) == ({"429": 3}, 0)


async def test_nothing_there_is_an_error_of_its_own() -> None:
    with pytest.raises(RemoteError, match="nothing answers"):
        await replay([_request(0)], "http://127.0.0.1:9")
    with pytest.raises(UsageError, match="is not a URL"):
        await replay([_request(0)], "localhost")


async def test_the_document_counts_hits_by_the_server_s_word(origin: ThreadedOrigin) -> None:
    found = document(await replay([_request(0)], origin.url))
    assert (found["requests"], found["hits"], found["hit_rate"], found["cache"]) == (1, 0, 0.0, {"none": 1})
    assert found["latency"]["all"]["n"] == 1
    assert found["latency"]["hit"] == {"n": 0, "median_ms": None, "p90_ms": None, "p95_ms": None, "p99_ms": None}
