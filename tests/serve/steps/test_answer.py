"""Answer rules: the same for stream and whole, from the origin and from the cache."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from edgeinf.core.config.schema import AnswerRules, Cache, DenyRule
from edgeinf.core.dialects import by_name
from edgeinf.core.wire import sse
from edgeinf.mock import MockOrigin
from edgeinf.serve.generation import make_generation
from tests.serve.origin.raw import raw_origin
from tests.serve.running import Proxy, chat, config_for, running

PERSONAL = "Write to jane.doe@example.com or call +1 415 555 2671; the card is 4111 1111 1111 1111. " * 3
PATHS = {
    "/v1/chat/completions": "openai-chat",
    "/v1/completions": "openai-completions",
    "/v1/messages": "anthropic-messages",
    "/v1/responses": "openai-responses",
}


def body_for(path: str, **fields: Any) -> dict[str, Any]:
    """Return a request for a path."""
    body: dict[str, Any] = {"model": "mock-small", "max_tokens": 4000, **fields}
    if path == "/v1/completions":
        return {**body, "prompt": "hi"}
    if path == "/v1/responses":
        del body["max_tokens"]
        return {**body, "input": "hi", "store": False}
    return {**chat(), **body}


def said(path: str, answer: httpx.Response) -> Any:
    """Return what an answer says, without what differs between shapes: texts, blocks and how it ended."""
    assert answer.status_code == 200, answer.text
    document = answer.json() if "json" in answer.headers["content-type"] else folded(path, answer.content)
    if path == "/v1/messages":
        return document["content"], document["stop_reason"]
    if path == "/v1/responses":
        return [
            (item["type"], [part.get("text") for part in item.get("content") or ()]) for item in document["output"]
        ], document["status"]
    choices = document["choices"]
    return [(c.get("text"), {k: v for k, v in (c.get("message") or {}).items() if v}) for c in choices]


def folded(path: str, raw: bytes) -> Any:
    """Return the document that a client makes of a stream."""
    events = sse.decode_all(raw)
    if path == "/v1/responses":
        numbers = [json.loads(event.data)["sequence_number"] for event in events if not event.is_done]
        assert numbers == list(range(len(numbers)))
        deltas = "".join(json.loads(e.data)["delta"] for e in events if e.name == b"response.output_text.delta")
        document = json.loads(by_name(PATHS[path]).fold(events))
        whole = [p["text"] for i in document["output"] if i["type"] == "message" for p in i["content"]]
        assert deltas == "".join(whole)
        return document
    return json.loads(by_name(PATHS[path]).fold(events))


async def four_ways(proxy: Proxy, path: str, **fields: Any) -> list[Any]:
    """Return what is said as stream and whole, from the origin and from the cache, each way first once."""
    seen = []
    for namespace, first in (("a", False), ("b", True)):
        for stream in (first, not first, first):
            answer = await proxy.client.post(
                path, json=body_for(path, stream=stream, **fields), headers={"x-edgeinf-namespace": namespace}
            )
            seen.append(said(path, answer))
    return seen


RULES: list[Any] = [
    pytest.param({"strip": ("reasoning",)}, {"reasoning": 20, "tokens": 20}, id="reasoning"),
    pytest.param({"redact": ("email", "phone", "credit-card")}, {"text": PERSONAL}, id="redact"),
    pytest.param({"header": "Note: ", "footer": "\n(made by a machine)"}, {"tokens": 20}, id="around"),
    pytest.param(
        {
            "strip": ("reasoning",),
            "redact": ("email",),
            "header": "> ",
            "footer": " <",
            "deny": (DenyRule(pattern="zq"),),
        },
        {"text": PERSONAL, "reasoning": 12},
        id="all-at-once",
    ),
    pytest.param({"header": "H", "footer": "F"}, {"tool_calls": [{}], "tokens": 0}, id="tool-call"),
]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path[4:])
@pytest.mark.parametrize(("rules", "answer"), RULES)
async def test_every_way_of_answering_says_the_same(
    tmp_path: Path, origin: MockOrigin, path: str, rules: dict[str, Any], answer: dict[str, Any]
) -> None:
    origin.use({"answer": answer})
    async with running(config_for(tmp_path, origin.url, answer=AnswerRules(**rules))) as proxy:
        first, *others = await four_ways(proxy, path)
        for other in others:
            assert other == first
    assert origin.count == 2
    text = json.dumps(first)
    assert "jane" not in text
    assert "415 555" not in text or "phone" not in rules.get("redact", ())
    assert "reasoning" not in text
    assert "thinking" not in text
    if "header" in rules and "tool_calls" not in answer:
        assert rules["header"] in text


async def test_a_changed_rule_needs_no_cold_cache(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"answer": {"text": PERSONAL}})
    config = config_for(tmp_path, origin.url)
    async with running(config) as proxy:
        assert "jane.doe" in (await proxy.ask()).text
        proxy.runtime.generation = make_generation(replace(config, answer=AnswerRules(redact=("email",))))
        for stream in (False, True):
            hit = await proxy.ask(stream=stream)
            assert hit.headers["x-edgeinf-cache"] == "hit"
            assert "jane.doe" not in hit.text
        proxy.runtime.generation = make_generation(config)
        assert "jane.doe" in (await proxy.ask()).text
    assert origin.count == 1


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/messages", "/v1/responses"])
async def test_a_denied_answer_never_shows_what_was_denied(tmp_path: Path, origin: MockOrigin, path: str) -> None:
    origin.use({"answer": {"text": "fine words. " * 40 + "the FORBIDDEN word and more " + "after. " * 40}})
    rules = AnswerRules(deny=(DenyRule(pattern="FORBIDDEN"),))
    async with running(config_for(tmp_path, origin.url, answer=rules)) as proxy:
        for stream in (True, False, True, False):
            answer = await proxy.client.post(path, json=body_for(path, stream=stream))
            assert "FORBIDDEN" not in answer.text
            assert "answer_blocked" in answer.text
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [event["guard"] for event in events] == [["answer blocked deny[0]"]] * 4


async def test_a_flagged_answer_passes_and_every_hit_says_so(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"answer": {"text": "a dubious word"}})
    rules = AnswerRules(deny=(DenyRule(pattern="dubious", action="flag"),))
    async with running(config_for(tmp_path, origin.url, answer=rules)) as proxy:
        for stream in (False, False, True, True):
            assert "dubious" in "".join(str(said("/v1/chat/completions", await proxy.ask(stream=stream))))
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [event["guard"] for event in events] == [["answer flagged deny[0]"]] * 4


async def test_redaction_lets_a_stream_flow(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"tpot": "60ms", "answer": {"tokens": 40}})
    rules = AnswerRules(redact=("email", "phone"))
    async with running(config_for(tmp_path, origin.url, answer=rules)) as proxy:
        started = time.perf_counter()
        async with proxy.client.stream("POST", "/v1/chat/completions", json=chat(stream=True)) as answer:
            async for line in answer.aiter_lines():
                if line.startswith("data: {") and json.loads(line[6:])["choices"][0]["delta"].get("content"):
                    break
            first_s = time.perf_counter() - started
    assert first_s < 40 * 0.06 / 3


async def test_logprobs_do_not_tell_what_was_redacted(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"answer": {"text": PERSONAL}})
    async with running(config_for(tmp_path, origin.url, answer=AnswerRules(redact=("email",)))) as proxy:
        for stream in (False, True):
            answer = await proxy.ask(stream=stream, logprobs=True)
            assert "jane" not in answer.text
            assert "example.com" not in answer.text


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
async def test_json_is_mended_in_whole_answers_only_and_nothing_is_put_around_it(
    tmp_path: Path, origin: MockOrigin, stream: bool
) -> None:
    origin.use({"answer": {"text": 'Here you are:\n```json\n{"a": [1, 2,], "b": "c\n```'}})
    rules = AnswerRules(repair_json=True, header="H", footer="F")
    async with running(config_for(tmp_path, origin.url, answer=rules)) as proxy:
        asked = await proxy.ask(stream=stream, response_format={"type": "json_object"})
        plain = await proxy.ask(stream=stream)
    [(_, message)] = said("/v1/chat/completions", asked)
    [(_, other)] = said("/v1/chat/completions", plain)
    assert message["content"].startswith("Here you are") is stream
    if not stream:
        assert json.loads(message["content"]) == {"a": [1, 2], "b": "c"}
    assert other["content"].startswith("HHere")


async def test_an_answer_too_large_to_look_through_is_not_passed_on(tmp_path: Path, origin: MockOrigin) -> None:
    origin.use({"answer": {"text": "x jane.doe@example.com " * 400_000}})
    rules = AnswerRules(redact=("email",))
    async with running(config_for(tmp_path, origin.url, answer=rules, cache=Cache(disk=None))) as proxy:
        answer = await proxy.ask()
    assert "jane" not in answer.text
    assert answer.status_code == 502


async def test_nothing_of_a_stream_that_cannot_be_edited_passes(tmp_path: Path) -> None:
    """A choice that is numbered by a list, say: the rules would not know what it belongs to."""
    odd = {"choices": [{"index": [1], "finish_reason": "stop", "delta": {"content": "jane"}}]}
    body = b"data: %b\n\ndata: [DONE]\n\n" % json.dumps(odd).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: %d\r\n\r\n" % len(body)
    async with (
        raw_origin(head + body) as plain,
        running(config_for(tmp_path, plain.url, answer=AnswerRules(header="Note: ", footer="."))) as proxy,
    ):
        answer = await proxy.client.post("/v1/chat/completions", json=chat(stream=True))
    assert "jane" not in answer.text
    assert "origin_bad" in answer.text
